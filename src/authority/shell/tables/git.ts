import { type FlagTable, type ReadArguments, readFlags, type Word } from './flags.ts'

const diff =
  'patch no-patch stat? shortstat numstat dirstat? summary name-only name-status raw full-index abbrev? cached staged merge-base unified? color? no-color word-diff? word-diff-regex: color-words? color-moved? no-renames find-renames? find-copies? find-copies-harder diff-filter: relative? no-relative text ignore-all-space ignore-space-change ignore-space-at-eol ignore-blank-lines ignore-cr-at-eol minimal patience histogram diff-algorithm: function-context inter-hunk-context: pickaxe-all pickaxe-regex exit-code quiet check no-ext-diff no-textconv no-prefix ignore-submodules? no-index compact-summary patch-with-stat stat-width: stat-name-width: stat-count: cumulative binary src-prefix: dst-prefix: line-prefix: ws-error-highlight: color-moved-ws: indent-heuristic no-indent-heuristic anchored: irreversible-delete ignore-matching-lines: output-indicator-new: output-indicator-old: output-indicator-context:'
const history =
  'oneline graph decorate? no-decorate all branches? tags? remotes? max-count: skip: since: after: until: before: author: committer: grep: all-match invert-grep regexp-ignore-case extended-regexp fixed-strings perl-regexp merges no-merges first-parent follow reverse topo-order date-order author-date-order date: relative-date abbrev-commit no-abbrev-commit format: pretty? left-right cherry-pick cherry-mark cherry left-only right-only boundary ancestry-path simplify-by-decoration full-history source walk-reflogs parents children count min-parents: max-parents: no-notes no-mailmap use-mailmap root cc no-walk? notes? not glob: exclude: merge show-pulls'
const diffLetters = 'abB?C?DG:I:M?pRsS:uU?wWz'

const verbs: Readonly<Record<string, FlagTable>> = {
  status: {
    short: 'bsu?vz',
    long: 'short branch show-stash porcelain? long verbose untracked-files? ignored? ignore-submodules? column? no-column ahead-behind no-ahead-behind renames no-renames find-renames?',
  },
  log: { short: `${diffLetters}cEFgiL:mn:P`, long: `${diff} ${history}`, hasNumbers: true },
  show: { short: `${diffLetters}cEFgimn:Pq`, long: `${diff} ${history}`, hasNumbers: true },
  diff: { short: `${diffLetters}cq`, long: `${diff} base ours theirs` },
  grep: {
    short: 'A:aB:cC:Ee:Ff<GhHiIlLm:noPpqrvwWz',
    long: 'after-context: before-context: context: text cached untracked no-index exclude-standard no-exclude-standard recursive no-recursive ignore-case word-regexp invert-match full-name extended-regexp basic-regexp perl-regexp fixed-strings line-number column files-with-matches name-only files-without-match null only-matching count color? no-color break heading show-function function-context max-depth: max-count: threads: and or not all-match quiet',
    hasNumbers: true,
  },
  'rev-parse': {
    short: 'q',
    long: 'abbrev-ref? short? symbolic symbolic-full-name verify quiet show-toplevel show-prefix show-cdup git-dir absolute-git-dir git-common-dir is-inside-work-tree is-inside-git-dir is-bare-repository is-shallow-repository all branches? tags? remotes? default: revs-only no-revs flags no-flags',
  },
  'ls-files': {
    short: 'cdfikmostuvx:X<z',
    long: 'cached deleted modified others ignored stage unmerged killed directory no-empty-directory eol full-name error-unmatch exclude: exclude-from< exclude-standard abbrev? deduplicate format:',
  },
  blame: {
    short: 'bcC?efL:lM?npstwS<',
    long: 'root show-stats porcelain line-porcelain incremental show-name show-number show-email since: date: abbrev? ignore-rev: ignore-revs-file< first-parent color-lines color-by-age reverse minimal',
  },
  describe: {
    long: 'tags always dirty? broken? all long abbrev? match: exclude: exact-match contains candidates: first-parent',
  },
  shortlog: { short: 'ceEnsw?', long: `numbered summary email group: committer: author: ${history}`, hasNumbers: true },
  // With a word, and without a flag that lists, it creates a branch.
  branch: {
    short: 'arv',
    long: 'all remotes verbose list show-current contains? no-contains? merged? no-merged? points-at: sort: format: color? no-color column? no-column abbrev? no-abbrev ignore-case',
    check: ({ words, flags }) => {
      const lists = flags.some(({ name }) => /^--(list|(no-)?(contains|merged)|points-at)$/.test(name))
      return words[0] && !lists
        ? `${words[0].text} would be made a branch: only --list gives words another meaning`
        : undefined
    },
  },
  tag: {
    short: 'ln?',
    long: 'list contains? no-contains? merged? no-merged? points-at? sort: format: color? column? no-column ignore-case',
    check: ({ words, flags }) => {
      const lists = flags.some(({ name }) => /^(-l|--(list|(no-)?(contains|merged)|points-at))$/.test(name))
      return words[0] && !lists
        ? `${words[0].text} would be made a tag: only --list gives words another meaning`
        : undefined
    },
  },
  // `show` and `update` use the network.
  remote: {
    short: 'v',
    long: 'verbose',
    check: ({ words }) =>
      words[0] && words[0].text !== 'get-url'
        ? `remote ${words[0].text} may ask the network or change settings`
        : undefined,
  },
  stash: {
    check: ({ words }) =>
      words.length === 1 && words[0]!.text === 'list' ? undefined : 'only `git stash list` leaves everything as it is',
  },
}

/** Whether there is a table for this git command, whatever its flags. */
export function isGitVerb(verb: string): boolean {
  return Object.hasOwn(verbs, verb)
}

/** The verb of a git command, the words after it, and the options before it. */
export function gitVerb(given: readonly Word[]): { options: readonly Word[]; verb: string; rest: readonly Word[] } {
  let at = 0
  while (given[at]?.text.startsWith('-'))
    at += /^(-C|-c|--git-dir|--work-tree|--namespace|--super-prefix|--config-env)$/.test(given[at]!.text) ? 2 : 1
  return { options: given.slice(0, at), verb: given[at]?.text ?? '', rest: given.slice(at + 1) }
}

/** Read-only git commands. The caller checks whether the repository is trusted. */
export function readGit(given: readonly Word[]): ReadArguments | string {
  const { options, verb, rest } = gitVerb(given)
  const option = options.find(({ text }) => text !== '--no-pager')
  if (option) return `${option.text} in front of the verb can make git run programs or go elsewhere`
  if (!isGitVerb(verb)) return `git ${verb} is not known to be read-only`
  const args = readFlags({ ...verbs[verb]!, words: 'text' }, rest)
  if (typeof args === 'string') return args
  const signed = args.flags.find(
    ({ name, value }) => /^--(format|pretty)$/.test(name) && /%[-+ ]?G|%\(sig|signature/i.test(value ?? ''),
  )
  if (signed) return `${signed.value} runs the program that checks signatures`
  // Other words may be revisions; these can only be files outside of the repository.
  const files = args.words.map(({ text }) => text).filter((text) => /^[/~]|(^|\/)\.\.(\/|$)/.test(text))
  return { ...args, reads: ['.', ...args.reads, ...files] }
}
