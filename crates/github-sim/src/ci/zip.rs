//! Zip archives without compression: the form in which GitHub hands out the logs of a whole run.

/// An archive of these files, in this order. Together they must stay below 4 GiB, which is all that plain zip can say.
pub fn archive(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for (name, content) in files {
        let offset = size(out.len());
        let fields = fields(name, content);
        out.extend(0x0403_4b50_u32.to_le_bytes());
        out.extend(&fields);
        out.extend(name.as_bytes());
        out.extend(content);
        directory.extend(0x0201_4b50_u32.to_le_bytes());
        directory.extend(20_u16.to_le_bytes());
        directory.extend(&fields);
        // No comment, first disk, no attributes.
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let count = u16::try_from(files.len()).unwrap_or(u16::MAX);
    let start = size(out.len());
    out.extend(&directory);
    out.extend(0x0605_4b50_u32.to_le_bytes());
    out.extend([0; 4]);
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend(size(directory.len()).to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0; 2]);
    out
}

/// What the local header and the directory both say about a file.
fn fields(name: &str, content: &[u8]) -> Vec<u8> {
    let mut fields = Vec::new();
    // Version 2.0, names in UTF-8, stored as it is, the first of January 1980.
    for word in [20_u16, 0x0800, 0, 0, 0x0021] {
        fields.extend(word.to_le_bytes());
    }
    fields.extend(crc32(content).to_le_bytes());
    fields.extend(size(content.len()).to_le_bytes());
    fields.extend(size(content.len()).to_le_bytes());
    fields.extend(u16::try_from(name.len()).unwrap_or(u16::MAX).to_le_bytes());
    fields.extend([0; 2]);
    fields
}

fn size(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut at = 0;
        while at < 256 {
            let mut value = at as u32;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 { 0xedb8_8320 ^ (value >> 1) } else { value >> 1 };
                bit += 1;
            }
            table[at] = value;
            at += 1;
        }
        table
    };
    let folded = bytes.iter().fold(u32::MAX, |crc, byte| TABLE[usize::from((crc as u8) ^ byte)] ^ (crc >> 8));
    !folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn an_archive_ends_with_a_directory_of_its_files() {
        let files = [("a.txt".to_owned(), b"one".to_vec()), ("b/c.txt".to_owned(), Vec::new())];
        let archive = archive(&files);
        let end = &archive[archive.len() - 22..];
        assert_eq!(end[..4], 0x0605_4b50_u32.to_le_bytes());
        assert_eq!(end[10..12], 2_u16.to_le_bytes());
        let start = u32::from_le_bytes(end[16..20].try_into().unwrap()) as usize;
        assert_eq!(archive[start..start + 4], 0x0201_4b50_u32.to_le_bytes());
        assert_eq!(archive[30..38], *b"a.txtone");
    }
}
