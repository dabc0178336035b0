// Plays a session by Go's driver and prints the results: session OPTIONS PORT SESSION.
package main

import (
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"

	_ "github.com/go-sql-driver/mysql"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func valueOf(text string) interface{} {
	value := text[2:]
	switch text[0] {
	case 'i':
		number, err := strconv.ParseInt(value, 10, 64)
		must(err)
		return number
	case 'd':
		number, err := strconv.ParseFloat(value, 64)
		must(err)
		return number
	case 'b':
		bytes, err := hex.DecodeString(value)
		must(err)
		return bytes
	case 's':
		return value
	}
	return nil
}

func tell(rows *sql.Rows) error {
	for {
		types, err := rows.ColumnTypes()
		must(err)
		for _, one := range types {
			length, _ := one.Length()
			precision, scale, _ := one.DecimalSize()
			null, _ := one.Nullable()
			fmt.Println(" ", one.Name(), one.DatabaseTypeName(), length, precision, scale, null, one.ScanType())
		}
		for rows.Next() {
			values := make([]interface{}, len(types))
			for i := range values {
				values[i] = new(interface{})
			}
			if err := rows.Scan(values...); err != nil {
				return err
			}
			for _, value := range values {
				fmt.Printf(" %T %q", *value.(*interface{}), fmt.Sprint(*value.(*interface{})))
			}
			fmt.Println()
		}
		if !rows.NextResultSet() {
			return rows.Err()
		}
	}
}

func run(db *sql.DB, how, text string, values []interface{}) error {
	if word := strings.ToLower(strings.Fields(text)[0]); how == "m" || word == "select" || word == "show" || word == "with" || word == "call" {
		rows, err := db.Query(text, values...)
		if err != nil {
			return err
		}
		defer rows.Close()
		return tell(rows)
	}
	result, err := db.Exec(text, values...)
	if err != nil {
		return err
	}
	changed, _ := result.RowsAffected()
	id, _ := result.LastInsertId()
	fmt.Println(" ", changed, id)
	return nil
}

func main() {
	db, err := sql.Open("mysql", "root@tcp(127.0.0.1:"+os.Args[2]+")/shop?multiStatements=true&allowAllFiles=true&"+os.Args[1])
	must(err)
	db.SetMaxOpenConns(1)
	session, err := os.ReadFile(os.Args[3])
	must(err)
	for _, line := range strings.Split(strings.TrimRight(string(session), "\n"), "\n") {
		parts := strings.Split(line, "\t")
		if parts[0] == "m" && strings.Contains(line, "wrong") {
			continue // the driver waits for ever for packets after an error that follows a result
		}
		times, err := strconv.Atoi(parts[1])
		must(err)
		text := strings.ReplaceAll(parts[2], "\\n", "\n")
		var values []interface{}
		for _, value := range parts[3:] {
			values = append(values, valueOf(value))
		}
		for i := 0; i < times; i++ {
			shown := text
			if len(shown) > 200 {
				shown = shown[:200]
			}
			fmt.Println(">", shown)
			if err := run(db, parts[0], text, values); err != nil {
				fmt.Println(" ", err)
			}
		}
	}
}
