// A session of hs4j: `java -cp ... Hs4jSession.java DATABASE READ_PORT WRITE_PORT`. Prints the client's results, a
// line a step.

import com.google.code.hs4j.FindOperator;
import com.google.code.hs4j.HSClient;
import com.google.code.hs4j.IndexSession;
import com.google.code.hs4j.ModifyStatement;
import com.google.code.hs4j.impl.HSClientImpl;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.sql.ResultSet;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;

public class Hs4jSession {
  private static final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
  private static final String[] COLUMNS = {"k", "v", "n"};
  private static String database;

  private static void step(String name, Callable<Object> action) {
    String told;
    try {
      told = String.valueOf(action.call());
    } catch (Exception error) {
      told = "error " + error.getMessage();
    }
    out.println(name + ": " + told);
  }

  private static String[] of(String... values) {
    return values;
  }

  /** All rows. The client shows NULL as a character U+0000, and says of no column that it was NULL. */
  private static Object rows(ResultSet result) throws Exception {
    List<List<String>> rows = new ArrayList<>();
    while (result.next()) {
      List<String> row = new ArrayList<>();
      for (int column = 1; column <= COLUMNS.length; ++column) {
        String value = result.getString(column);
        row.add(value == null ? "null" : value.replace("\0", "U+0000").replace("\t", "TAB").replace("\n", "LF").replace("\r", "CR"));
      }
      rows.add(row);
    }
    return rows;
  }

  private static IndexSession open(HSClient client, String table, String index, String... columns) throws Exception {
    return client.openIndexSession(database, table, index, columns);
  }

  public static void main(String[] arguments) throws Exception {
    database = arguments[0];
    HSClient reader = new HSClientImpl("127.0.0.1", Integer.parseInt(arguments[1]));
    // A pool: each index is opened on every connection of it.
    HSClient writer = new HSClientImpl("127.0.0.1", Integer.parseInt(arguments[2]), 3);
    try {
      play(reader, writer);
    } finally {
      reader.shutdown();
      writer.shutdown();
    }
  }

  private static void play(HSClient reader, HSClient writer) throws Exception {
    step("no such table", () -> open(reader, "nothing", "PRIMARY", "k"));
    step("no such index", () -> open(reader, "kv", "nothing", "k"));
    step("no such column", () -> open(reader, "kv", "PRIMARY", "k", "nothing"));
    IndexSession read = open(reader, "kv", "PRIMARY", COLUMNS);
    IndexSession byNumber = open(reader, "kv", "n", COLUMNS);
    IndexSession write = open(writer, "kv", "PRIMARY", COLUMNS);
    IndexSession text = open(writer, "kv", "PRIMARY", "v");
    IndexSession counted = open(writer, "counted", "PRIMARY", "v");

    step("insert", () -> write.insert(of("a", "A", "1")));
    step("insert NULL", () -> write.insert(of("b", null, null)));
    step("insert empty", () -> write.insert(of("c", "", "0")));
    step("insert control bytes", () -> write.insert(of("d", "\0\1\t\n\r end", "-4")));
    step("insert words of the world", () -> write.insert(of("é", "日本語 😀", "2147483647")));
    step("duplicate", () -> write.insert(of("a", "again", "9")));
    step("insert, generated", () -> counted.insert(of("one")));
    step("insert on the read port", () -> read.insert(of("z", "Z", "26")));
    step("insert into an index nobody opened", () -> writer.insert(4711, of("z")));

    step("find", () -> rows(read.find(of("a"))));
    step("find NULL", () -> rows(read.find(of("b"))));
    step("find control bytes", () -> rows(read.find(of("d"))));
    step("find words of the world", () -> rows(read.find(of("é"))));
    step("find none", () -> rows(read.find(of("nobody"))));
    step("range", () -> rows(read.find(of("a"), FindOperator.GE, 3, 0)));
    step("range with offset", () -> rows(read.find(of("a"), FindOperator.GT, 2, 1)));
    step("range downwards", () -> rows(read.find(of("d"), FindOperator.LT, 10, 0)));
    step("range from below", () -> rows(read.find(of("c"), FindOperator.LE, 1, 0)));
    step("secondary index", () -> rows(byNumber.find(of("-100"), FindOperator.GE, 10, 0)));
    step("too many keys", () -> rows(read.find(of("a", "b"))));
    step("update on the read port", () -> read.update(of("a"), of("a", "changed", "1"), FindOperator.EQ));

    step("update", () -> write.update(of("a"), of("a", "new", "10"), FindOperator.EQ));
    step("update to NULL", () -> write.update(of("c"), of("c", null, null), FindOperator.EQ));
    step("update one column", () -> text.update(of("b"), of("b"), FindOperator.EQ));
    step("update none", () -> write.update(of("nobody"), of("x", "y", "1"), FindOperator.EQ));
    step("update to a duplicate", () -> write.update(of("b"), of("a", "b", "2"), FindOperator.EQ));
    step("update a range", () -> text.update(of("b"), of("range"), FindOperator.GE, 2, 0));
    step("delete", () -> write.delete(of("d")));
    step("delete none", () -> write.delete(of("d")));
    step("delete a range", () -> write.delete(of("c"), FindOperator.GE, 9, 0));

    ModifyStatement statement = write.createStatement();
    for (int at = 1; at <= 5; ++at) {
      final int number = at;
      step("statement, insert " + at, () -> {
        statement.setString(1, "s" + number);
        statement.setString(2, "statement");
        statement.setInt(3, number);
        return statement.insert();
      });
    }
    step("statement, duplicate", statement::insert);
    step("statement, update", () -> {
      statement.setBytes(2, "bytes".getBytes(StandardCharsets.UTF_8));
      statement.setLong(3, 55);
      return statement.update(of("s5"), FindOperator.EQ);
    });
    step("statement, update a range", () -> {
      ModifyStatement column = text.createStatement();
      column.setString(1, "several");
      return column.update(of("s1"), FindOperator.GE, 2, 1);
    });
    step("what is left", () -> rows(read.find(of(""), FindOperator.GE, 20, 0)));
  }
}
