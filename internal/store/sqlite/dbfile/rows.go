package dbfile

import "database/sql"

// Scanner reads the columns of a row.
type Scanner interface{ Scan(dest ...any) error }

// EachRow calls scan for each row, and closes rows.
func EachRow(rows *sql.Rows, scan func(Scanner) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return Unavailable(err)
	}
	return nil
}
