import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.Arrays;
import java.util.HexFormat;

/** Plays a session by Java's driver and prints the results: SqlSession OPTIONS PORT SESSION. */
public class SqlSession {
  public static void main(String[] arguments) throws Exception {
    String url = "jdbc:mariadb://127.0.0.1:" + arguments[1] + "/shop?user=root&allowMultiQueries=true&" + arguments[0];
    try (Connection connection = DriverManager.getConnection(url)) {
      for (String line : Files.readAllLines(Path.of(arguments[2]), StandardCharsets.UTF_8)) {
        String[] parts = line.split("\t", -1);
        String text = parts[2].replace("\\n", "\n");
        for (int i = 0; i < Integer.parseInt(parts[1]); ++i) {
          System.out.println("> " + text.substring(0, Math.min(200, text.length())));
          try {
            run(connection, parts[0], text, Arrays.copyOfRange(parts, 3, parts.length));
          } catch (SQLException problem) {
            System.out.println("  " + problem.getErrorCode() + " " + problem.getSQLState() + " "
                + problem.getMessage().replaceAll("conn=\\d+", "conn=N"));
          } catch (RuntimeException problem) {
            System.out.println("  " + problem);
          }
        }
      }
    }
  }

  private static void run(Connection connection, String how, String text, String[] values) throws SQLException {
    if (how.equals("t") || how.equals("m") || values.length == 0 && !how.equals("p")) {
      try (Statement statement = connection.createStatement()) {
        tell(statement, values.length == 0 ? statement.execute(text, Statement.RETURN_GENERATED_KEYS) : false);
        return;
      }
    }
    try (PreparedStatement statement = connection.prepareStatement(text, Statement.RETURN_GENERATED_KEYS)) {
      for (int i = 0; i < values.length; ++i) bind(statement, i + 1, values[i]);
      tell(statement, statement.execute());
    }
  }

  private static void bind(PreparedStatement statement, int at, String text) throws SQLException {
    String value = text.substring(2);
    switch (text.charAt(0)) {
      case 'i': statement.setLong(at, Long.parseLong(value)); break;
      case 'd': statement.setDouble(at, Double.parseDouble(value)); break;
      case 's': statement.setString(at, value); break;
      case 'b': statement.setBytes(at, HexFormat.of().parseHex(value)); break;
      default: statement.setNull(at, java.sql.Types.VARCHAR);
    }
  }

  private static void tell(Statement statement, boolean hasRows) throws SQLException {
    while (true) {
      if (hasRows) tell(statement.getResultSet());
      else System.out.println("  " + statement.getUpdateCount());
      for (SQLWarning warning = statement.getWarnings(); warning != null; warning = warning.getNextWarning())
        System.out.println("  " + warning.getErrorCode() + " " + warning.getMessage());
      hasRows = statement.getMoreResults();
      if (!hasRows && statement.getUpdateCount() == -1) break;
    }
    try (ResultSet keys = statement.getGeneratedKeys()) {
      while (keys.next()) System.out.println("  key " + keys.getString(1));
    } catch (SQLException none) {
      System.out.println("  no keys");
    }
  }

  private static void tell(ResultSet rows) throws SQLException {
    ResultSetMetaData columns = rows.getMetaData();
    for (int i = 1; i <= columns.getColumnCount(); ++i)
      System.out.println("  " + columns.getColumnLabel(i) + " " + columns.getColumnName(i) + " " + columns.getTableName(i)
          + " " + columns.getColumnTypeName(i) + " " + columns.getColumnDisplaySize(i) + " " + columns.getScale(i) + " "
          + columns.isNullable(i) + columns.isAutoIncrement(i) + columns.isSigned(i));
    while (rows.next()) {
      StringBuilder row = new StringBuilder(" ");
      for (int i = 1; i <= columns.getColumnCount(); ++i) {
        byte[] bytes = rows.getBytes(i);
        row.append(" ").append(bytes == null ? "null" : HexFormat.of().formatHex(bytes));
        try {
          row.append("=").append(rows.getString(i));
        } catch (SQLException problem) {
          row.append("=").append(problem.getMessage().replaceAll("conn=\\d+", "conn=N"));
        }
      }
      System.out.println(row);
    }
  }
}
