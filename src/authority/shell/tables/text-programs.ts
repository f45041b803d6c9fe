import type { FlagTable } from './flags.ts'

const digest = {
  short: 'bctwz',
  long: 'check binary text tag quiet status warn strict ignore-missing zero',
  hasOnlyReadFlags: true,
} as const

/** Programs that read text and print text. */
export const textPrograms: Readonly<Record<string, FlagTable>> = {
  cat: {
    short: 'AbeEnstTuv',
    long: 'show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting',
    hasOnlyReadFlags: true,
  },
  head: {
    short: 'n:c:qvz',
    long: 'lines: bytes: quiet silent verbose zero-terminated',
    hasNumbers: true,
    hasOnlyReadFlags: true,
  },
  tail: {
    short: 'n:c:fFqvrs:z',
    long: 'lines: bytes: follow? retry pid: sleep-interval: quiet silent verbose zero-terminated',
    hasNumbers: true,
    hasOnlyReadFlags: true,
  },
  wc: { short: 'lwcmL', long: 'lines words bytes chars max-line-length total:', hasOnlyReadFlags: true },
  cut: {
    short: 'd:f:c:b:snz',
    long: 'delimiter: fields: characters: bytes: only-delimited complement output-delimiter: zero-terminated',
    hasOnlyReadFlags: true,
  },
  tr: {
    short: 'cCdst',
    long: 'complement delete squeeze-repeats truncate-set1',
    words: 'text',
    hasOnlyReadFlags: true,
  },
  nl: {
    short: 'b:d:f:h:i:l:n:ps:v:w:',
    long: 'body-numbering: number-format: number-width: number-separator:',
    hasOnlyReadFlags: true,
  },
  tac: { short: 'brs:', long: 'before regex separator:', hasOnlyReadFlags: true },
  rev: { hasOnlyReadFlags: true },
  column: {
    short: 'tnexs:o:c:N:R:H:J',
    long: 'table separator: output-separator: output-width: table-columns: json',
    hasOnlyReadFlags: true,
  },
  paste: { short: 'd:sz', long: 'delimiters: serial zero-terminated', hasOnlyReadFlags: true },
  join: {
    short: '1:2:a:e:ij:o:t:v:z',
    long: 'ignore-case check-order nocheck-order header zero-terminated',
    hasOnlyReadFlags: true,
  },
  fold: { short: 'bsw:', long: 'bytes spaces width:', hasNumbers: true, hasOnlyReadFlags: true },
  expand: { short: 'it:', long: 'initial tabs:', hasOnlyReadFlags: true },
  unexpand: { short: 'at:', long: 'all first-only tabs:', hasOnlyReadFlags: true },
  comm: {
    short: '123z',
    long: 'check-order nocheck-order output-delimiter: total zero-terminated',
    hasOnlyReadFlags: true,
  },
  cmp: { short: 'bi:ln:s', long: 'print-bytes ignore-initial: verbose bytes: quiet silent', hasOnlyReadFlags: true },
  // Without hasOnlyReadFlags: -l starts pr.
  diff: {
    short: 'abBcC:dEiI:L:nNpqrstTuU:wW:x:X<yZ',
    long: 'brief unified? context? recursive new-file side-by-side width: label: color? text ignore-case ignore-all-space ignore-space-change ignore-blank-lines ignore-trailing-space ignore-matching-lines: strip-trailing-cr suppress-common-lines exclude: exclude-from< report-identical-files minimal normal show-c-function show-function-line: expand-tabs no-dereference left-column',
  },
  // Without hasOnlyReadFlags: -o writes, --compress-program runs, -T chooses where temporary files go.
  sort: {
    short: 'bcCdfghik:mMnrRst:uVz',
    long: 'ignore-leading-blanks dictionary-order ignore-case general-numeric-sort numeric-sort human-numeric-sort month-sort random-sort version-sort sort: reverse check? merge key: field-separator: stable unique zero-terminated debug parallel:',
  },
  // A second word is a file that it writes.
  uniq: {
    short: 'cdDf:is:uw:z',
    long: 'count repeated all-repeated? skip-fields: ignore-case skip-chars: unique check-chars: group? zero-terminated',
    most: 1,
    flagsFirst: true,
  },
  // `@file` would be a file of flags.
  strings: {
    short: 'afn:t:e:ws:',
    long: 'all bytes: radix: encoding: print-file-name',
    hasNumbers: true,
    check: ({ words }) =>
      words.find(({ text }) => text.startsWith('@')) && 'a word that begins with @ names a file of flags',
  },
  od: {
    short: 'A:abcdfij:loN:st:vw?x',
    long: 'address-radix: skip-bytes: read-bytes: format: output-duplicates width?',
    hasOnlyReadFlags: true,
  },
  hexdump: { short: 'bcCde:f<n:os:vx', long: 'canonical length: skip: no-squeezing', hasOnlyReadFlags: true },
  // A second word is a file that it writes, even if it looks like a flag; -r writes too.
  xxd: { short: 'abc:Ceg:il:ps:u', most: 1, flagsFirst: true, noBundles: true, valuesApart: true },
  md5sum: digest,
  sha1sum: digest,
  sha224sum: digest,
  sha256sum: digest,
  sha384sum: digest,
  sha512sum: digest,
  b2sum: digest,
  cksum: { hasOnlyReadFlags: true },
  sum: { short: 'rs', hasOnlyReadFlags: true },
  seq: { short: 'f:s:w', long: 'format: separator: equal-width', words: 'text', hasOnlyReadFlags: true },
}
