import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;

/** Answers every POST with its body in upper case. */
public class UpperCaseServer {
    public static void main(String[] args) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(8080), 0);
        server.createContext("/", UpperCaseServer::answer);
        server.start();
    }

    private static void answer(HttpExchange exchange) throws IOException {
        String text = new String(exchange.getRequestBody().readAllBytes());
        byte[] reply = text.toUpperCase().getBytes();
        exchange.sendResponseHeaders(200, reply.length);
        try (OutputStream body = exchange.getResponseBody()) {
            body.write(reply);
        }
    }
}
