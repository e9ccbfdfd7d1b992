import org.apache.http.client.methods.CloseableHttpResponse;
import org.apache.http.client.methods.HttpPost;
import org.apache.http.entity.StringEntity;
import org.apache.http.impl.client.CloseableHttpClient;
import org.apache.http.impl.client.HttpClients;
import org.apache.http.util.EntityUtils;

/** Thirty calls over one kept-alive connection, 100 characters each: Caller [HOST] */
public class Caller {
    public static void main(String[] args) throws Exception {
        String text = "abcdefghij".repeat(10);
        String host = args.length > 0 ? args[0] : "localhost";
        try (CloseableHttpClient client = HttpClients.createDefault()) {
            for (int i = 0; i < 30; i++) {
                long start = System.nanoTime();
                HttpPost post = new HttpPost("http://" + host + ":8080/");
                post.setEntity(new StringEntity(text));
                try (CloseableHttpResponse response = client.execute(post)) {
                    EntityUtils.consume(response.getEntity());
                }
                System.out.printf("%.1f ms%n", (System.nanoTime() - start) / 1e6);
            }
        }
    }
}
