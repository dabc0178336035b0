<?php

declare(strict_types=1);

/**
 * An open index of a connection, with the methods of the PECL extension. A query is a value, a list of values, or
 * [operator => values]; an update is a value, a list of values, or [change => values], as ['+' => [1]].
 *
 * Options of a request: 'in' => values for the first part of the key, or [part => values]; 'filter' and 'while' =>
 * [operator, column, value], or a list of such, where a column is its name or its position among the filter columns.
 */
class HandlerSocketIndex
{
    private const OPERATORS = ['=', '>', '>=', '<', '<='];

    private array $fields;
    private array $filter;

    /**
     * @param array<string, mixed> $options filter: names of columns that filters may look at
     * @throws HandlerSocketException if the index cannot be opened
     */
    public function __construct(
        private HandlerSocket $hs,
        private int $id,
        private string $db,
        private string $table,
        private string $index,
        string|array $fields,
        array $options = []
    ) {
        $this->fields = self::asList($fields);
        $this->filter = self::asList($options['filter'] ?? []);
        if (!$hs->openIndex($id, $db, $table, $index, $this->fields, $this->filter)) {
            throw new HandlerSocketException((string) $hs->getError(), $hs->getErrorCode());
        }
    }

    public function getId(): int
    {
        return $this->id;
    }

    public function getDatabase(): string
    {
        return $this->db;
    }

    public function getTable(): string
    {
        return $this->table;
    }

    public function getName(): string
    {
        return $this->index;
    }

    /** @return list<string> */
    public function getField(): array
    {
        return $this->fields;
    }

    /** @return list<string> */
    public function getFilter(): array
    {
        return $this->filter;
    }

    /** @return list<string> what a query may compare by */
    public function getOperator(): array
    {
        return self::OPERATORS;
    }

    public function getError(): ?string
    {
        return $this->hs->getError();
    }

    /** @return list<list<?string>>|false rows */
    public function find(mixed $query, int $limit = 1, int $offset = 0, array $options = []): array|false
    {
        return $this->hs->executeSingle(...$this->request($query, null, $limit, $offset, $options));
    }

    /** Values of a new row, one by one or as a list. Returns what HandlerSocket::executeInsert() does. */
    public function insert(mixed ...$values): int|string|false
    {
        return $this->hs->executeInsert($this->id, self::row($values));
    }

    /** @return list<list<?string>>|int|string|false how many rows were changed; with a change that ends in '?' those rows */
    public function update(
        mixed $query,
        mixed $update,
        int $limit = 1,
        int $offset = 0,
        array $options = []
    ): array|int|string|false {
        return $this->hs->executeSingle(...$this->request($query, $update, $limit, $offset, $options));
    }

    public function remove(mixed $query, int $limit = 1, int $offset = 0, array $options = []): array|int|string|false
    {
        return $this->update($query, ['D' => []], $limit, $offset, $options);
    }

    /**
     * Sends several requests together.
     *
     * @param list<list<mixed>> $requests each the name of a method, then its arguments: ['find', 101]
     * @return list<mixed> what each method would return
     */
    public function multi(array $requests): array
    {
        return $this->hs->executeMulti(array_map(fn (array $request) => $this->named(...$request), $requests));
    }

    private function named(string $method, mixed ...$arguments): array
    {
        return match (strtolower($method)) {
            'find' => $this->request($arguments[0], null, ...array_slice($arguments, 1)),
            'insert' => [$this->id, '+', self::row($arguments)],
            'update' => $this->request(...$arguments),
            'remove' => $this->request($arguments[0], ['D' => []], ...array_slice($arguments, 1)),
            default => throw new HandlerSocketException("there is no request '$method'"),
        };
    }

    /** The arguments of HandlerSocket::executeSingle(). */
    private function request(mixed $query, mixed $update, int $limit = 1, int $offset = 0, array $options = []): array
    {
        [$operator, $key] = self::pair($query, '=');
        [$change, $values] = $update === null ? [null, null] : self::pair($update, 'U');
        if (!in_array($operator, self::OPERATORS, true)) {
            throw new HandlerSocketException("there is no operator '$operator'");
        }
        $filters = [...$this->filters('F', $options['filter'] ?? []), ...$this->filters('W', $options['while'] ?? [])];
        [$part, $in] = self::in($options['in'] ?? []);
        return [$this->id, $operator, $key, $limit, $offset, $change, $values, $filters, $part, $in];
    }

    /** @return array{string, list<mixed>} */
    private static function pair(mixed $words, string $usual): array
    {
        if (!is_array($words)) {
            return [$usual, [$words]];
        }
        if (array_is_list($words)) {
            return [$usual, $words];
        }
        $word = array_key_first($words);
        return [(string) $word, is_array($words[$word]) ? array_values($words[$word]) : [$words[$word]]];
    }

    private static function in(array $in): array
    {
        if ($in === []) {
            return [-1, null];
        }
        // [part, values], [part => values], or the values alone.
        if (count($in) === 2 && array_is_list($in) && is_int($in[0]) && is_array($in[1])) {
            return $in;
        }
        $part = array_key_first($in);
        return is_array($in[$part]) ? [(int) $part, array_values($in[$part])] : [0, array_values($in)];
    }

    private function filters(string $type, array $filters): array
    {
        if ($filters !== [] && !is_array(reset($filters))) {
            $filters = [$filters];
        }
        return array_map(function (array $filter) use ($type): array {
            [$operator, $column, $value] = $filter;
            $at = is_int($column) ? $column : array_search($column, $this->filter, true);
            if ($at === false) {
                throw new HandlerSocketException("'$column' is no filter column of this index");
            }
            return [$type, $operator, $at, $value];
        }, $filters);
    }

    private static function row(array $values): array
    {
        return count($values) === 1 && is_array($values[0]) ? array_values($values[0]) : $values;
    }

    private static function asList(string|array $names): array
    {
        if (is_array($names)) {
            return array_values($names);
        }
        return $names === '' ? [] : array_map('trim', explode(',', $names));
    }
}
