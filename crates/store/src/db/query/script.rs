//! Several statements at once.

use futures_util::TryStreamExt as _;
use sqlx::{Either, Executor as _};

use super::{Conn, Query, Record, sql};
use crate::db::corrupt;
use crate::error::Result;

/// Statements that are carried out in order, none of which depends on the answer to another. SQLite is asked once for all
/// of them: each question is a journey to its thread and back, which takes longer than most statements do.
#[derive(Default)]
pub struct Script(Vec<Query>);

impl Script {
    pub fn add(&mut self, query: Query) {
        self.0.push(query);
    }

    pub async fn execute(self, conn: &mut Conn<'_>) -> Result<()> {
        self.answers(conn).await.map(drop)
    }

    /// What each of them finds.
    pub async fn answers(self, conn: &mut Conn<'_>) -> Result<Vec<Vec<Record>>> {
        let mut answers = Vec::with_capacity(self.0.len());
        match conn {
            Conn::Sqlite(_) if self.0.is_empty() => {}
            Conn::Sqlite(conn) => {
                let mut told = conn.fetch_many(self.into_one().for_sqlite());
                let mut rows = Vec::new();
                while let Some(next) = told.try_next().await? {
                    match next {
                        Either::Left(_) => answers.push(std::mem::take(&mut rows)),
                        Either::Right(row) => rows.push(Record::Sqlite(row)),
                    }
                }
            }
            Conn::Postgres(_) => {
                for query in self.0 {
                    answers.push(query.all(conn).await?);
                }
            }
        }
        Ok(answers)
    }

    /// The statements one after the other, with their parameters numbered through.
    fn into_one(self) -> Query {
        let mut text = String::new();
        let mut values = Vec::new();
        for query in self.0 {
            let before = values.len();
            let mut parts = query.text.split('$');
            text.extend(parts.next());
            for part in parts {
                let end = part.find(|it: char| !it.is_ascii_digit()).unwrap_or(part.len());
                let (number, rest) = part.split_at(end);
                let number = before + number.parse::<usize>().unwrap_or_default();
                text.push_str(&format!("${number}{rest}"));
            }
            text.push_str("; ");
            values.extend(query.values);
        }
        Query { values, ..sql(text) }
    }
}

/// What each of these finds, asked at once.
pub async fn ask<const N: usize>(conn: &mut Conn<'_>, questions: [Query; N]) -> Result<[Vec<Record>; N]> {
    let answers = Script(questions.into()).answers(conn).await?;
    answers.try_into().map_err(|answers: Vec<_>| corrupt(format!("{N} questions, and {} answers", answers.len())))
}

#[cfg(test)]
mod tests {
    use sqlx::{Connection as _, SqliteConnection};

    use super::*;

    #[tokio::test]
    async fn each_statement_gets_its_own_values() {
        let mut conn = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        let conn = &mut Conn::Sqlite(&mut conn);
        sql("CREATE TABLE a (x INTEGER, y TEXT)").execute(conn).await.unwrap();
        let mut script = Script::default();
        script.add(sql("INSERT INTO a VALUES ($1, $2)").int(1).text("one; $1"));
        script.add(sql("INSERT INTO a SELECT $2, $1 || $1").text("two").int(2));
        script.add(sql("DELETE FROM a WHERE x > 2"));
        script.add(sql("UPDATE a SET y = y || $2 WHERE x = $1").int(1).text("!"));
        script.execute(conn).await.unwrap();
        let rows = sql("SELECT x, y FROM a ORDER BY x").all(conn).await.unwrap();
        let rows: Vec<_> = rows.iter().map(|row| (row.int(0).unwrap(), row.text(1).unwrap())).collect();
        assert_eq!(rows, [(1, "one; $1!".to_owned()), (2, "twotwo".to_owned())]);
    }

    #[tokio::test]
    async fn each_question_gets_its_own_answer() {
        let mut conn = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        let questions = [
            sql("SELECT value FROM json_each($1)").text("[1, 2]"),
            sql("SELECT 3 WHERE $1 = 0").int(1),
            sql("SELECT $1").int(4),
        ];
        let answers = ask(&mut Conn::Sqlite(&mut conn), questions).await.unwrap();
        let numbers = |rows: &Vec<Record>| rows.iter().map(|row| row.int(0).unwrap()).collect::<Vec<_>>();
        assert_eq!(answers.iter().map(numbers).collect::<Vec<_>>(), [vec![1, 2], vec![], vec![4]]);
    }

    #[tokio::test]
    async fn the_first_that_is_refused_is_the_last_that_is_tried() {
        let mut conn = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        let conn = &mut Conn::Sqlite(&mut conn);
        sql("CREATE TABLE a (x INTEGER PRIMARY KEY)").execute(conn).await.unwrap();
        let mut script = Script::default();
        for x in [1, 1, 2] {
            script.add(sql("INSERT INTO a VALUES ($1)").int(x));
        }
        script.execute(conn).await.unwrap_err();
        let count = sql("SELECT count(*) FROM a").first(conn).await.unwrap().unwrap();
        assert_eq!(count.int(0).unwrap(), 1);
        Script::default().execute(conn).await.unwrap();
    }
}
