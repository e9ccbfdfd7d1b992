import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;

/** Ten times: send one line, in one write or in two, and read it back. */
public class Client {
    public static void main(String[] args) throws Exception {
        String host = args[0];
        boolean writeSplit = Boolean.valueOf(args[1]);
        boolean noDelay = Boolean.valueOf(args[2]);
        System.out.println("WriteSplit:" + writeSplit + " NoDelay:" + noDelay);
        Socket socket = new Socket();
        if (noDelay) {
            socket.setTcpNoDelay(true);
        }
        socket.connect(new InetSocketAddress(host, 8000));
        InputStream in = socket.getInputStream();
        OutputStream out = socket.getOutputStream();
        BufferedReader reader = new BufferedReader(new InputStreamReader(in));
        String head = "hello ";
        String body = "world\r\n";
        for (int i = 0; i < 10; i++) {
            long label = System.currentTimeMillis();
            if (writeSplit) {
                out.write(head.getBytes());
                out.write(body.getBytes());
            } else {
                out.write((head + body).getBytes());
            }
            String line = reader.readLine();
            System.out.println("RTT:" + (System.currentTimeMillis() - label) + " ,receive:" + line);
        }
        in.close();
        out.close();
        socket.close();
    }
}
