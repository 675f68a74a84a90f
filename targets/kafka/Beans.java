import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.ObjectInputFilter;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.rmi.NotBoundException;
import java.rmi.registry.LocateRegistry;
import java.rmi.server.RMISocketFactory;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import javax.management.Attribute;
import javax.management.InstanceNotFoundException;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;
import javax.management.remote.JMXConnector;
import javax.management.remote.rmi.RMIConnector;
import javax.management.remote.rmi.RMIServer;

/**
 * Asks the management beans of a Java process over JMX remote (RMI without TLS), and prints what Jolokia answers to a bulk read.
 *
 * <p>Input, by lines: address, port, user, password (both empty for none), then for each question the name of a bean and its
 * attributes, between tabs. In the end the reason of a failure is the last line of the error stream, and the code is 1.
 */
class Beans {
  /** Wait for a connection and for each answer. */
  private static final int WAIT_MS = 10_000;

  /** Nothing but what JMX itself sends is made from what a peer sent, and no way into TLS, which would choose its own address. */
  private static final String ACCEPTED =
      "maxdepth=32;maxarray=1000000;maxrefs=5000000;maxbytes=67108864;!javax.rmi.ssl.**;"
          + "java.io.*;java.lang.**;java.math.*;java.rmi.**;java.security.*;java.util.**;javax.management.**;javax.security.auth.**;"
          + "sun.rmi.**;com.sun.jmx.**;jdk.proxy*;com.sun.proxy.*;!*";

  public static void main(String[] args) {
    try {
      var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      InetAddress address = InetAddress.getByName(lines.readLine());
      int port = Integer.parseInt(lines.readLine());
      String user = lines.readLine();
      String password = lines.readLine();
      List<String[]> questions = lines.lines().map(line -> line.split("\t")).collect(Collectors.toList());
      ObjectInputFilter.Config.setSerialFilter(ObjectInputFilter.Config.createFilter(ACCEPTED));
      System.setProperty("sun.rmi.transport.tcp.responseTimeout", "" + WAIT_MS);
      System.setProperty("sun.rmi.transport.tcp.handshakeTimeout", "" + WAIT_MS);
      RMISocketFactory.setSocketFactory(new Only(address));
      System.out.print(ask(address, port, user, password, questions));
      System.out.flush();
      // Threads of RMI may still wait for something.
      Runtime.getRuntime().halt(0);
    } catch (Throwable why) {
      System.err.println(inWords(why).replaceAll("\\p{Cntrl}+", " "));
      Runtime.getRuntime().halt(1);
    }
  }

  /** Connects to one address, whatever a server says of where it is: many name one that leads nowhere from here. */
  private static final class Only extends RMISocketFactory {
    private final InetAddress address;

    Only(InetAddress address) {
      this.address = address;
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
      var socket = new Socket();
      socket.connect(new InetSocketAddress(address, port), WAIT_MS);
      return socket;
    }

    @Override
    public ServerSocket createServerSocket(int port) throws IOException {
      throw new IOException("nobody is listened to here");
    }
  }

  private static String ask(InetAddress address, int port, String user, String password, List<String[]> questions)
      throws Exception {
    var server = (RMIServer) LocateRegistry.getRegistry(address.getHostAddress(), port).lookup("jmxrmi");
    Map<String, Object> login =
        user.isEmpty() ? Map.of() : Map.of(JMXConnector.CREDENTIALS, new String[] {user, password});
    var connector = new RMIConnector(server, login);
    connector.connect();
    MBeanServerConnection beans = connector.getMBeanServerConnection();
    var answers = new StringBuilder("[");
    for (String[] question : questions) {
      answers.append(answers.length() > 1 ? ",\n" : "").append(answer(beans, question));
    }
    return answers.append("]\n").toString();
  }

  private static String answer(MBeanServerConnection beans, String[] question) throws IOException {
    try {
      var name = new ObjectName(question[0]);
      String[] attributes = Arrays.copyOfRange(question, 1, question.length);
      if (!name.isPattern()) {
        return "{\"status\":200,\"value\":" + json(read(beans, name, attributes)) + "}";
      }
      var found = new TreeMap<String, Object>();
      for (ObjectName one : beans.queryNames(name, null)) {
        try {
          found.put(one.toString(), read(beans, one, attributes));
        } catch (InstanceNotFoundException gone) {
          // It went between the two questions.
        }
      }
      return found.isEmpty() ? "{\"status\":404}" : "{\"status\":200,\"value\":" + json(found) + "}";
    } catch (InstanceNotFoundException missing) {
      return "{\"status\":404}";
    } catch (IOException lost) {
      throw lost;
    } catch (Exception refused) {
      return "{\"status\":500,\"error\":" + json(refused.toString()) + "}";
    }
  }

  private static Map<String, Object> read(MBeanServerConnection beans, ObjectName name, String[] attributes)
      throws Exception {
    var values = new TreeMap<String, Object>();
    for (Attribute attribute : beans.getAttributes(name, attributes).asList()) {
      values.put(attribute.getName(), attribute.getValue());
    }
    return values;
  }

  private static String json(Object value) {
    if (value instanceof Map<?, ?> map) {
      return map.entrySet().stream()
          .map(entry -> json(entry.getKey().toString()) + ":" + json(entry.getValue()))
          .collect(Collectors.joining(",", "{", "}"));
    }
    if (value instanceof CompositeData parts) {
      return parts.getCompositeType().keySet().stream()
          .map(key -> json(key) + ":" + json(parts.get(key)))
          .collect(Collectors.joining(",", "{", "}"));
    }
    if (value instanceof Number number) {
      return Double.isFinite(number.doubleValue()) ? number.toString() : "null";
    }
    if (!(value instanceof String)) {
      return "null";
    }
    var text = new StringBuilder("\"");
    for (char letter : value.toString().toCharArray()) {
      boolean isPlain = letter >= ' ' && letter != '"' && letter != '\\' && !Character.isSurrogate(letter);
      text.append(isPlain ? String.valueOf(letter) : String.format("\\u%04x", (int) letter));
    }
    return text.append('"').toString();
  }

  /** What went wrong, with the next step. */
  private static String inWords(Throwable why) {
    Throwable root = why;
    for (Throwable one = why; one != null; one = one.getCause()) {
      root = one;
      if (one instanceof SecurityException) {
        return "the user or the password is not accepted, or none was given (" + one.getMessage() + ")";
      }
      if (String.valueOf(one.getMessage()).contains("REJECTED")) {
        return "it speaks TLS, or sends what JMX does not: JMX remote is read without TLS only, so use jolokia or prometheus";
      }
    }
    if (why instanceof NotBoundException) {
      return "a registry of RMI answers, but it knows no JMX: name the port of com.sun.management.jmxremote.port";
    }
    if (root instanceof ConnectException) {
      return "no connection to the port that JMX was said to be at: set com.sun.management.jmxremote.rmi.port to the same port as"
          + " com.sun.management.jmxremote.port, and let both through";
    }
    if (root instanceof SocketTimeoutException) {
      return "no answer within " + WAIT_MS / 1000 + " s: is this a port of JMX remote?";
    }
    return "this is no port of JMX remote (RMI without TLS), or it broke off: " + root;
  }
}
