import { alwaysReads, each, type Program, plain, reads, recursive, valuesOf } from './program.ts'
import { readSed, sedWrites } from './sed.ts'

/** Programs that read text and print text. */
export const textPrograms: Readonly<Record<string, Program>> = {
  cat: alwaysReads('AbeEnstTuv', 'show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting'),
  head: alwaysReads('n:c:qvz', 'lines: bytes: quiet silent verbose zero-terminated', { hasNumbers: true }),
  tail: alwaysReads(
    'n:c:fFqvrs:z',
    'lines: bytes: follow? retry pid: sleep-interval: quiet silent verbose zero-terminated',
    { hasNumbers: true },
  ),
  wc: alwaysReads('lwcmL', 'lines words bytes chars max-line-length total:'),
  cut: alwaysReads(
    'd:f:c:b:snz',
    'delimiter: fields: characters: bytes: only-delimited complement output-delimiter: zero-terminated',
  ),
  tr: alwaysReads('cCdst', 'complement delete squeeze-repeats truncate-set1', { words: 'text' }),
  nl: alwaysReads('b:d:f:h:i:l:n:ps:v:w:', 'body-numbering: number-format: number-width: number-separator:'),
  tac: alwaysReads('brs:', 'before regex separator:'),
  rev: alwaysReads(),
  column: alwaysReads('tnexs:o:c:N:R:H:J', 'table separator: output-separator: output-width: table-columns: json'),
  paste: alwaysReads('d:sz', 'delimiters: serial zero-terminated'),
  join: alwaysReads('1:2:a:e:ij:o:t:v:z', 'ignore-case check-order nocheck-order header zero-terminated'),
  fold: alwaysReads('bsw:', 'bytes spaces width:', { hasNumbers: true }),
  expand: alwaysReads('it:', 'initial tabs:'),
  unexpand: alwaysReads('at:', 'all first-only tabs:'),
  comm: alwaysReads('123z', 'check-order nocheck-order output-delimiter: total zero-terminated'),
  cmp: alwaysReads('bi:ln:s', 'print-bytes ignore-initial: verbose bytes: quiet silent', {}, { exitOne: 'no' }),
  // -l starts pr.
  diff: reads(
    {
      short: 'abBcC:dEiI:L:nNpqrstTuU:wW:x:X<yZ',
      long: 'brief unified? context? recursive new-file side-by-side width: label: color? text ignore-case ignore-all-space ignore-space-change ignore-blank-lines ignore-trailing-space ignore-matching-lines: strip-trailing-cr suppress-common-lines exclude: exclude-from< report-identical-files minimal normal show-c-function show-function-line: expand-tabs no-dereference left-column',
    },
    { isDeep: recursive, exitOne: 'no' },
  ),
  sed: reads(readSed, { writes: sedWrites }),
  // -o writes, --compress-program runs, -T chooses where temporary files go.
  sort: reads(
    {
      short: 'bcCdfghik:mMnrRst:uVz',
      long: 'ignore-leading-blanks dictionary-order ignore-case general-numeric-sort numeric-sort human-numeric-sort month-sort random-sort version-sort sort: reverse check? merge key: field-separator: stable unique zero-terminated debug parallel:',
    },
    { writes: sortOutput },
  ),
  // A second word is a file that it writes.
  uniq: reads(
    {
      short: 'cdDf:is:uw:z',
      long: 'count repeated all-repeated? skip-fields: ignore-case skip-chars: unique check-chars: group? zero-terminated',
      most: 1,
      flagsFirst: true,
    },
    { writes: secondWord, startsNothing: true },
  ),
  // `@file` would be a file of flags.
  strings: reads({
    short: 'afn:t:e:ws:',
    long: 'all bytes: radix: encoding: print-file-name',
    hasNumbers: true,
    check: ({ words }) =>
      words.find(({ text }) => text.startsWith('@')) && 'a word that begins with @ names a file of flags',
  }),
  od: alwaysReads('A:abcdfij:loN:st:vw?x', 'address-radix: skip-bytes: read-bytes: format: output-duplicates width?'),
  hexdump: alwaysReads('bcCde:f<n:os:vx', 'canonical length: skip: no-squeezing'),
  // A second word is a file that it writes, even if it looks like a flag; -r writes too.
  xxd: reads(
    { short: 'abc:Ceg:il:ps:u', most: 1, flagsFirst: true, noBundles: true, valuesApart: true },
    { writes: secondWord, startsNothing: true },
  ),
  ...each(
    'md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum',
    alwaysReads('bctwz', 'check binary text tag quiet status warn strict ignore-missing zero'),
  ),
  cksum: alwaysReads(),
  sum: alwaysReads('rs'),
  seq: alwaysReads('f:s:w', 'format: separator: equal-width', { words: 'text' }),
}

function sortOutput(words: readonly string[]): string[] | undefined {
  return words.some((word) => /^(-[a-zA-Z]*o|--o)/.test(word))
    ? valuesOf(/^(-[a-zA-Z]*?o|--o[a-z]*)/, words)
    : undefined
}

function secondWord(words: readonly string[]): string[] | undefined {
  const given = plain(words)
  return given.length > 1 ? given.slice(-1) : undefined
}
