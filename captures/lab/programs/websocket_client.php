<?php
// Messages in fragments of random length, 0 to 1280 bytes, each written at once:
// php websocket_client.php HOST PORT nagle|nodelay

const MESSAGES = 20, FRAGMENTS = 8, TEXT = 1, BINARY = 2, CONTINUATION = 0;

[, $host, $port, $option] = $argv;
mt_srand(1);
$context = stream_context_create(['socket' => ['tcp_nodelay' => $option === 'nodelay']]);
$socket = stream_socket_client("tcp://$host:$port", $code, $error, 5, STREAM_CLIENT_CONNECT, $context);
$key = base64_encode(random_bytes(16));
fwrite($socket, "GET / HTTP/1.1\r\nHost: lab\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    . "Sec-WebSocket-Key: $key\r\nSec-WebSocket-Version: 13\r\n\r\n");
while (trim(fgets($socket)) !== '');

for ($n = 0; $n < MESSAGES; $n++) {
    for ($i = 0; $i < FRAGMENTS; $i++) {
        send($socket, $i ? CONTINUATION : BINARY, $i === FRAGMENTS - 1, payload(mt_rand(0, 1280)));
    }
    while (receive($socket) !== TEXT);
}

function payload(int $length): string
{
    return $length ? random_bytes($length) : '';
}

function send($socket, int $opcode, bool $final, string $data): void
{
    $length = strlen($data) < 126 ? chr(0x80 | strlen($data)) : chr(0x80 | 126) . pack('n', strlen($data));
    $mask = random_bytes(4);
    $masked = $data ^ str_repeat($mask, intdiv(strlen($data), 4) + 1);
    fwrite($socket, chr(($final ? 0x80 : 0) | $opcode) . $length . $mask . $masked);
}

/** Reads a frame and returns its opcode. */
function receive($socket): int
{
    [$opcode, $length] = array_values(unpack('C2', read($socket, 2)));
    if ($length === 126) {
        $length = unpack('n', read($socket, 2))[1];
    }
    read($socket, $length);
    return $opcode & 15;
}

function read($socket, int $length): string
{
    for ($data = ''; strlen($data) < $length;) {
        $data .= fread($socket, $length - strlen($data));
    }
    return $data;
}
