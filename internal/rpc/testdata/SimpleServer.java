// A Hadoop RPC server without tokens, hence simple authentication only: the oracle of golden.txt for SASL.
// Run: java -cp "$(hadoop.sh classpath)" SimpleServer.java PORT
import java.io.FileNotFoundException;
import java.lang.reflect.Proxy;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.protocol.ClientProtocol;
import org.apache.hadoop.hdfs.protocol.proto.ClientNamenodeProtocolProtos.ClientNamenodeProtocol;
import org.apache.hadoop.hdfs.protocolPB.ClientNamenodeProtocolPB;
import org.apache.hadoop.hdfs.protocolPB.ClientNamenodeProtocolServerSideTranslatorPB;
import org.apache.hadoop.ipc.ProtobufRpcEngine2;
import org.apache.hadoop.ipc.RPC;

public class SimpleServer {
  public static void main(String[] args) throws Exception {
    Configuration conf = new Configuration();
    RPC.setProtocolEngine(conf, ClientNamenodeProtocolPB.class, ProtobufRpcEngine2.class);
    ClientProtocol impl = (ClientProtocol) Proxy.newProxyInstance(SimpleServer.class.getClassLoader(),
        new Class<?>[] {ClientProtocol.class}, (proxy, method, a) -> {
          switch (method.getName()) {
            case "getFileInfo":
            case "renewLease":
              return null;
            case "getBlockLocations":
              throw new FileNotFoundException("File does not exist: " + a[0]);
            default:
              throw new UnsupportedOperationException(method.getName());
          }
        });
    RPC.Server server = new RPC.Builder(conf).setProtocol(ClientNamenodeProtocolPB.class)
        .setInstance(ClientNamenodeProtocol.newReflectiveBlockingService(new ClientNamenodeProtocolServerSideTranslatorPB(impl)))
        .setBindAddress("127.0.0.1").setPort(Integer.parseInt(args[0])).setNumHandlers(2).build();
    server.start();
    System.out.println("listening on " + server.getListenerAddress());
    server.join();
  }
}
