import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** Sends every line back, in one write. */
public class Server {
    public static void main(String[] args) throws Exception {
        ServerSocket serverSocket = new ServerSocket();
        serverSocket.bind(new InetSocketAddress(8000));
        System.out.println("Server startup at 8000");
        for (;;) {
            Socket socket = serverSocket.accept();
            InputStream in = socket.getInputStream();
            OutputStream out = socket.getOutputStream();
            while (true) {
                try {
                    BufferedReader reader = new BufferedReader(new InputStreamReader(in));
                    // null once the client has closed: "null" goes out until the reset comes back.
                    // The report's program does that, and so the captures end with it.
                    String line = reader.readLine();
                    out.write((line + "\r\n").getBytes());
                } catch (Exception e) {
                    break;
                }
            }
        }
    }
}
