//! Templates of squash commit messages: what is filled in, left out, refused, and never read as a template.

use proptest::prelude::*;

use super::*;

fn person(name: &str, email: &str, login: Option<&str>) -> CommitPerson {
    CommitPerson { name: name.to_owned(), email: email.to_owned(), login: login.map(str::to_owned) }
}

fn commit(message: &str, authors: &[CommitPerson]) -> MessageCommit {
    MessageCommit { message: message.to_owned(), authors: authors.to_vec() }
}

fn subject() -> SquashedPullRequest {
    SquashedPullRequest {
        number: PrNumber::new(12),
        title: "Add widgets".to_owned(),
        body: "They were {missing}.\r\n\r\nCloses #3.\r\n".to_owned(),
        author: "mona".to_owned(),
        branch: BranchName::parse("widgets").unwrap(),
        commits: vec![
            commit("Add a widget\n\nAt last.", &[person("Mona", "mona@example.com", Some("Mona"))]),
            commit("Paint it", &[person("Hubot", "hubot@example.com", Some("hubot"))]),
            commit(
                "Paint it again\n\nCo-Authored-By: Kim <kim@example.com>\nco-authored-by: Hubot <HUBOT@example.com>",
                &[person("Mona", "7+mona@users.noreply.github.com", None)],
            ),
        ],
        reviewers: vec!["octo".to_owned(), "Octo".to_owned(), String::new(), "kim".to_owned()],
    }
}

fn rendered(template: &str) -> String {
    MessageTemplate::parse(template).unwrap().render(&subject())
}

#[test]
fn every_place_is_filled() {
    assert_eq!(
        rendered("{title} (#{number}) by {author} from {branch}\n\n{body}\n\n{commits}\n\n{co_authors}\n{reviewers}"),
        "Add widgets (#12) by mona from widgets\n\n\
         They were {missing}.\n\nCloses #3.\n\n\
         * Add a widget\n* Paint it\n* Paint it again\n\n\
         Co-authored-by: Hubot <hubot@example.com>\nCo-authored-by: Kim <kim@example.com>\n\
         Reviewed-by: @octo\nReviewed-by: @kim"
    );
}

#[test]
fn a_line_of_places_with_nothing_to_say_is_left_out() {
    let nobody =
        SquashedPullRequest { reviewers: Vec::new(), commits: Vec::new(), body: " \r\n".to_owned(), ..subject() };
    let template = MessageTemplate::parse("{body}\n\nTitle: {title}\n{co_authors} {reviewers}\n\n\nend").unwrap();
    assert_eq!(template.render(&nobody), "Title: Add widgets\n\n\nend");
}

#[test]
fn a_title_is_one_line() {
    let title = MessageTemplate::parse("{title}\n{body}").unwrap();
    assert_eq!(title.render_line(&subject()), "Add widgets They were {missing}. Closes #3.");
}

#[test]
fn a_place_that_does_not_exist_is_refused_with_those_that_do() {
    for (template, placeholder) in [("{titel}", "titel"), ("a\n{Title} b", "Title"), ("{{{co-authors}", "co-authors")] {
        let unknown = MessageTemplate::parse(template).unwrap_err();
        assert_eq!(unknown.placeholder, placeholder);
    }
    assert_eq!(
        MessageTemplate::parse("{x}").unwrap_err().to_string(),
        "there is no placeholder {x}; use {title}, {number}, {body}, {author}, {branch}, {co_authors}, {reviewers}, \
         {commits}, or write {{ and }} for braces"
    );
}

#[test]
fn braces_that_belong_to_no_name_stand_for_themselves() {
    assert_eq!(rendered("{{title}} {} { x } }{ {number"), "{title} {} { x } }{ {number");
    assert_eq!(rendered("{{{number}}}"), "{12}");
}

#[test]
fn what_must_be_read_follows_from_the_places() {
    let needs = |template: &str| MessageTemplate::parse(template).unwrap().needs();
    assert_eq!(needs("{title} {body} {{commits}}"), TemplateNeeds::default());
    assert_eq!(needs("a\n{commits}"), TemplateNeeds { commits: true, reviews: false });
    assert_eq!(needs("{co_authors}").or(needs("{reviewers}")), TemplateNeeds { commits: true, reviews: true });
}

#[test]
fn the_author_is_no_co_author_under_any_address_that_is_known_to_be_theirs() {
    let mut subject = subject();
    // By this commit the other address is known to be the author's.
    subject.commits = vec![
        commit("one", &[person("Mona L.", "work@example.com", Some("mona"))]),
        commit("two", &[person("M", "WORK@example.com", None)]),
        commit("three\n\nCo-authored-by: M <work@example.com>", &[]),
    ];
    assert_eq!(co_authors(&subject), "");
}

#[test]
fn names_cannot_break_out_of_their_trailer() {
    let mut subject = subject();
    subject.commits =
        vec![commit("one", &[person("Eve\nReviewed-by: boss <", "e>@example.com", None), person("", "x@y", None)])];
    assert_eq!(co_authors(&subject), "Co-authored-by: EveReviewed-by: boss <e@example.com>\nCo-authored-by: x@y <x@y>");
}

proptest! {
    #[test]
    fn any_text_is_a_template_or_names_what_is_wrong_with_it(text in "[a-z{}_ \n]{0,60}") {
        match MessageTemplate::parse(&text) {
            Ok(template) => { template.render(&subject()); }
            Err(unknown) => {
                let written = format!("{{{}}}", unknown.placeholder);
                prop_assert!(text.contains(&written));
            }
        }
    }

    #[test]
    fn what_others_wrote_is_never_read_as_a_template(title in "[a-z{}]{1,30}") {
        let subject = SquashedPullRequest { title: title.clone(), ..subject() };
        prop_assert_eq!(MessageTemplate::parse("{title}").unwrap().render(&subject), title);
    }
}
