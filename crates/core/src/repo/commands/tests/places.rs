//! Where in a comment a line is a command.

use super::*;

#[test]
fn a_line_of_ones_own_is_heard_wherever_it_stands() {
    for body in [
        "@merge-train stop",
        "\n\n@merge-train stop\n\n",
        "Something is wrong.\n@merge-train stop\nSorry.",
        "Something is wrong.\r\n@merge-train stop\r\nSorry.",
        "   @merge-train stop",
        "> quoted\n\n@merge-train stop",
        "```\ncode\n```\n@merge-train stop",
        "~~~\ncode\n~~~\n@merge-train stop",
        "`code`\n@merge-train stop",
        "an unpaired ` backtick\n@merge-train stop",
        "<!-- a note -->\n@merge-train stop",
        "<!-- use <details> for logs -->\n\n@merge-train stop",
        "<!--> <code> is not hidden\n\n</code>\n\n@merge-train stop",
        "<details><summary>log</summary>\n\nlines\n\n</details>\n\n@merge-train stop",
        "<details>\n\n- log </details>\n\n@merge-train stop",
        "<img alt=\"> <details>\" src=x>\n\n@merge-train stop",
        "<img alt='> <details>' src=x>\n\n@merge-train stop",
        "a Vec<String> is\n@merge-train stop",
        "one<br>\n@merge-train stop",
        "- one\n- two\n@merge-train stop",
        "- one\n\n  @merge-train stop",
        "- <code>one\n- two\n\n@merge-train stop",
        "> <details>\n\n@merge-train stop",
        "# Heading\n@merge-train stop",
        "@merge-train stop\n---\nregards",
        "***\n@merge-train stop",
        "| a | b |\n|---|---|\n| 1 | 2 |\n@merge-train stop",
        "![alt](image.png)\n@merge-train stop",
        "[link](https://example.com)\n@merge-train stop",
        "[1]: https://example.com\n@merge-train stop",
        "~~struck~~\n@merge-train stop",
        "**bold\n@merge-train stop\nbold**",
        "please @merge-train start\n@merge-train stop",
    ] {
        assert_eq!(parse_all(body), [AddressedLine::Command(Command::Stop)], "{body:?}");
    }
}

#[test]
fn what_is_shown_as_something_else_is_not_heard() {
    for body in [
        "",
        "@",
        "hello",
        // Not the first word, not the name.
        "please @merge-train stop",
        "a@merge-train stop",
        "@merge-trainer stop",
        "@merge-train-x stop",
        "@merge-train/team stop",
        "@merge-train's stop",
        "@merge-train[bots] stop",
        "@merge-train:: stop",
        "@merge-train. stop",
        "@ merge-train stop",
        "(@merge-train stop)",
        "**@merge-train stop**",
        "\\@merge-train stop",
        "&#64;merge-train stop",
        "@merge&#45;train stop",
        "\u{ff20}merge-train stop",
        // Code.
        "`@merge-train stop`",
        "``\n@merge-train stop\n``",
        "a `b\n@merge-train stop\nc` d",
        "```\n@merge-train stop\n```",
        "```\n@merge-train stop",
        "````md\n```\n@merge-train stop\n```\n````",
        "~~~ sh\n@merge-train stop\n~~~",
        "```\n~~~\n@merge-train stop\n```",
        "- item\n  ```\n  @merge-train stop\n  ```",
        "    @merge-train stop",
        "\t@merge-train stop",
        "- item\n\n      @merge-train stop",
        // Quotations.
        "> @merge-train stop",
        ">@merge-train stop",
        ">> @merge-train stop",
        "> > nested\n@merge-train stop",
        "> lazy\n@merge-train stop",
        "> - lazy\n@merge-train stop",
        "> [!NOTE]\n> @merge-train stop",
        "- > @merge-train stop",
        // Items, headings, rows.
        "- @merge-train stop",
        "1. @merge-train stop",
        "- [ ] @merge-train stop",
        "# @merge-train stop",
        "| @merge-train stop |\n|---|",
        // HTML.
        "<!-- @merge-train stop -->",
        "<!--\n@merge-train stop\n-->",
        "<!--\n\n@merge-train stop\n\n-->",
        "<!--\n@merge-train stop",
        "text <!--\n@merge-train stop\n-->",
        "<div>\n<!-- open\n\n@merge-train stop\n\n-->",
        "<div>\n@merge-train stop\n</div>",
        "<pre>\n\n@merge-train stop\n\n</pre>",
        "<details>\n\n@merge-train stop\n\n</details>",
        "<details>\n\n<details>\n\n</details>\n\n@merge-train stop\n\n</details>",
        "<DETAILS\nopen>\n\n@merge-train stop\n\n</DETAILS>",
        "<blockquote>\n\n@merge-train stop\n\n</blockquote>",
        "text <code>\n@merge-train stop\n</code>",
        "text <code title='>'>\n@merge-train stop\n</code>",
        "text <s><del></s>\n@merge-train stop\n</del>",
        "<script>\n@merge-train stop\n</script>",
        "text <a title=\"\n@merge-train stop\n\">link</a>",
        // Links, images, what is struck out.
        "[text](\n@merge-train)",
        "[text](/url \"\n@merge-train stop\n\")",
        "[ref]: /url \"\n@merge-train stop\n\"\n\n[ref]",
        "[ref]: @merge-train",
        "[text\n@merge-train stop\n](/url)",
        "![text\n@merge-train stop\n](/url)",
        "<mailto:@merge-train>",
        "~~@merge-train stop~~",
        "~~old\n@merge-train stop\nold~~",
    ] {
        assert_eq!(parse_all(body), [], "{body:?}");
    }
}
