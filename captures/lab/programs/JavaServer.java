import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;

/** The JDK's own HTTP server: java [-Dsun.net.httpserver.nodelay=true] JavaServer.java PORT */
public class JavaServer {
    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(Integer.parseInt(arguments[0])), 0);
        server.createContext("/", exchange -> {
            byte[] body = new byte[300];
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }
}
