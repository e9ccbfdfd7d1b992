/* The yardstick: libpcap reads every packet of a capture and does nothing but count. */
#include <pcap/pcap.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    char error[PCAP_ERRBUF_SIZE] = "usage: pcap_loop FILE";
    pcap_t *capture = argc == 2 ? pcap_open_offline(argv[1], error) : NULL;
    if (capture == NULL) {
        fprintf(stderr, "pcap_loop: %s\n", error);
        return 2;
    }
    uintmax_t packets = 0, bytes = 0;
    struct pcap_pkthdr *header;
    const u_char *data;
    int result;
    while ((result = pcap_next_ex(capture, &header, &data)) == 1) {
        packets++;
        bytes += header->caplen;
    }
    if (result != PCAP_ERROR_BREAK)
        pcap_perror(capture, "pcap_loop");
    pcap_close(capture);
    printf("%ju packets, %ju bytes\n", packets, bytes);
    return result == PCAP_ERROR_BREAK ? 0 : 1;
}
