import { each, type FlagTable, type Program, type ReadArguments, reads, recursive } from './program.ts'

// Not -d: with `recurse` it reads folders.
const grep: FlagTable = {
  short: 'A:aB:bC:cD:Ee:Ff<GHhIiLlm:noPqRrsTUvwxyZz',
  long: 'after-context: before-context: context: text byte-offset color? colour? count binary-files: devices: exclude: exclude-from< exclude-dir: extended-regexp regexp: fixed-strings file< basic-regexp with-filename no-filename ignore-case no-ignore-case include: files-without-match files-with-matches max-count: line-number line-buffered only-matching perl-regexp quiet silent recursive dereference-recursive no-messages initial-tab invert-match word-regexp line-regexp null null-data label:',
  hasNumbers: true,
  words: 'pattern',
  hasOnlyReadFlags: true,
  readsHere: /^(-r|-R|--recursive|--dereference-recursive)$/,
}

// -x and -X run commands, -l runs ls.
const fd: FlagTable = {
  short: 'HIusigFaLp0d:t:e:E:o:S:j:c:1qC<',
  long: 'hidden no-ignore no-ignore-vcs no-ignore-parent no-global-ignore-file unrestricted case-sensitive ignore-case glob regex fixed-strings absolute-path follow full-path print0 max-depth: min-depth: exact-depth: prune type: extension: exclude: ignore-file< size: changed-within: changed-before: owner: color: threads: max-results: quiet show-errors base-directory< search-path< path-separator: one-file-system strip-cwd-prefix? and:',
  words: 'pattern',
  readsHere: true,
}

/** Programs that search in files. */
export const searchPrograms: Readonly<Record<string, Program>> = {
  ...each('grep egrep fgrep', reads(grep, { isDeep: recursive, exitOne: 'no' })),
  ...each('fd fdfind', reads(fd)),
  // --pre, --hostname-bin and -z start programs.
  rg: reads(
    {
      short: 'aA:bB:C:cd:e:E:Ff<g:HIij:LlM:m:NnoPpqr:sSt:T:Uuvwx0.',
      long: 'after-context: before-context: context: color: colors: column count count-matches case-sensitive encoding: files files-with-matches files-without-match file< fixed-strings follow glob: glob-case-insensitive heading no-heading hidden no-hidden iglob: ignore-case ignore-file< include-zero invert-match json line-number no-line-number line-regexp max-columns: max-columns-preview max-count: max-depth: max-filesize: multiline multiline-dotall no-config no-filename no-ignore no-ignore-vcs no-ignore-parent no-messages null one-file-system only-matching pcre2 passthru pretty quiet regexp: replace: smart-case sort: sortr: stats text threads: trim type: type-not: type-add: type-list unrestricted vimgrep with-filename word-regexp auto-hybrid-regex binary block-buffered byte-offset context-separator: no-context-separator crlf debug engine: field-context-separator: field-match-separator: line-buffered mmap no-mmap no-ignore-dot no-ignore-exclude no-ignore-files no-ignore-global no-ignore-messages no-require-git no-unicode null-data passthrough stop-on-nonmatch',
      words: 'pattern',
      readsHere: true,
    },
    { version: '--version -V --help -h', isDeep: true, exitOne: 'no' },
  ),
  // It can neither write nor start programs; -f and -L load code from files, and `env` would show secrets.
  jq: reads(
    {
      short: 'acCejMnrRsS',
      long: 'ascii-output compact-output color-output exit-status join-output monochrome-output null-input raw-output raw-input slurp sort-keys tab indent: stream seq arg:: argjson:: slurpfile:< rawfile:<',
      words: 'pattern',
      check: jqFilter,
    },
    { version: '--version' },
  ),
}

function jqFilter({ words }: ReadArguments): string | undefined {
  const filter = words[0]
  if (!filter) return undefined
  if (filter.isGlob) return `${filter.text} is not known before the shell has matched it`
  if (/#.*\n/.test(filter.text)) return 'a comment in a filter can hide what it does'
  if (/\$\s*(ENV|__prog)|(?<![.\w"$])env\b/.test(filter.text)) return 'env in a filter shows what the environment holds'
  if (/(?<![.\w"$])(import|include|module|modulemeta)\b/.test(filter.text))
    return 'import and include in a filter read other files'
  return undefined
}
