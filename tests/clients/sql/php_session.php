<?php
// Plays a session by one of PHP's drivers and prints the answers: php php_session.php DRIVER PORT SESSION.
[$program, $driver, $port, $session] = $argv;
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);

function value_of($text) {
    [$kind, $value] = explode(':', $text, 2);
    return match ($kind) {
        'i' => (int)$value, 'd' => (float)$value, 's' => $value, 'b' => hex2bin($value), 'n' => null,
    };
}

function tell($what) {
    echo '  ', json_encode($what, JSON_INVALID_UTF8_SUBSTITUTE | JSON_UNESCAPED_UNICODE | JSON_PRESERVE_ZERO_FRACTION), "\n";
}

function tell_result($result) {
    foreach ($result->fetch_fields() as $field) tell($field);
    while ($row = $result->fetch_row()) tell(array_map(fn($one) => is_string($one) ? bin2hex($one) : $one, $row));
    $result->free();
}

function by_mysqli($link, $how, $text, $values) {
    if ($how == 'm') {
        $link->multi_query($text);
        do {
            $result = $link->store_result();
            if ($result) tell_result($result);
            tell([$link->affected_rows, $link->insert_id, $link->info, $link->warning_count]);
        } while ($link->next_result());
        return;
    }
    if ($how == 't' && !$values) {
        $result = $link->query($text);
    } else {
        $statement = $link->prepare($text);
        if ($values) {
            $kinds = implode('', array_map(fn($one) => is_int($one) ? 'i' : (is_float($one) ? 'd' : 's'), $values));
            $statement->bind_param($kinds, ...$values);
        }
        $statement->execute();
        $result = $statement->get_result();
        tell([$statement->affected_rows, $statement->insert_id]);
    }
    if (is_object($result)) tell_result($result);
    tell([$link->affected_rows, $link->insert_id, $link->info, $link->warning_count]);
    foreach ($link->get_warnings() ?: [] as $warning) tell($warning);
}

function by_pdo($pdo, $how, $text, $values) {
    if (!$values && $how != 'p') {
        $statement = $pdo->query($text);
    } else {
        $statement = $pdo->prepare($text);
        foreach ($values as $at => $value) {
            $kind = $value === null ? PDO::PARAM_NULL : (is_int($value) ? PDO::PARAM_INT : PDO::PARAM_STR);
            $statement->bindValue($at + 1, $value, $kind);
        }
        $statement->execute();
    }
    do {
        for ($i = 0; $i < $statement->columnCount(); ++$i) tell($statement->getColumnMeta($i));
        if ($statement->columnCount()) {
            while ($row = $statement->fetch(PDO::FETCH_NUM))
                tell(array_map(fn($one) => is_string($one) ? bin2hex($one) : $one, $row));
        }
        tell([$statement->rowCount(), $pdo->lastInsertId()]);
    } while ($how == 'm' && $statement->nextRowset());
}

if ($driver == 'mysqli') {
    $link = mysqli_init();
    $link->options(MYSQLI_OPT_LOCAL_INFILE, true);
    $link->real_connect('127.0.0.1', 'root', '', 'shop', (int)$port, null, 0);
    $link->set_charset('utf8mb4');
} elseif ($driver == 'mysqli-compressed') {
    $link = mysqli_init();
    $link->options(MYSQLI_OPT_LOCAL_INFILE, true);
    $link->real_connect('127.0.0.1', 'root', '', 'shop', (int)$port, null, MYSQLI_CLIENT_COMPRESS | MYSQLI_CLIENT_FOUND_ROWS);
    $link->set_charset('utf8mb4');
} else {
    $link = new PDO("mysql:host=127.0.0.1;port=$port;dbname=shop;charset=utf8mb4", 'root', '', [
        PDO::ATTR_EMULATE_PREPARES => $driver == 'pdo-emulated', PDO::MYSQL_ATTR_LOCAL_INFILE => true,
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
    ]);
}
foreach (file($session, FILE_IGNORE_NEW_LINES) as $line) {
    [$how, $times, $text] = explode("\t", $line);
    $text = str_replace('\n', "\n", $text);
    $values = array_map('value_of', array_slice(explode("\t", $line), 3));
    for ($i = 0; $i < (int)$times; ++$i) {
        echo '> ', substr($text, 0, 200), "\n";
        try {
            $link instanceof PDO ? by_pdo($link, $how, $text, $values) : by_mysqli($link, $how, $text, $values);
        } catch (Throwable $problem) {
            tell([get_class($problem), $problem->getCode(), $problem->getMessage()]);
        }
    }
}
