import { readFlags } from './flags.ts'
import { type FlagTable, type Program, type ReadArguments, reads, type Word } from './program.ts'

const diff =
  'patch no-patch stat? shortstat numstat dirstat? summary name-only name-status raw full-index abbrev? cached staged merge-base unified? color? no-color word-diff? word-diff-regex: color-words? color-moved? no-renames find-renames? find-copies? find-copies-harder diff-filter: relative? no-relative text ignore-all-space ignore-space-change ignore-space-at-eol ignore-blank-lines ignore-cr-at-eol minimal patience histogram diff-algorithm: function-context inter-hunk-context: pickaxe-all pickaxe-regex exit-code quiet check no-ext-diff no-textconv no-prefix ignore-submodules? no-index compact-summary patch-with-stat stat-width: stat-name-width: stat-count: cumulative binary src-prefix: dst-prefix: line-prefix: ws-error-highlight: color-moved-ws: indent-heuristic no-indent-heuristic anchored: irreversible-delete ignore-matching-lines: output-indicator-new: output-indicator-old: output-indicator-context:'
const history =
  'oneline graph decorate? no-decorate all branches? tags? remotes? max-count: skip: since: after: until: before: author: committer: grep: all-match invert-grep regexp-ignore-case extended-regexp fixed-strings perl-regexp merges no-merges first-parent follow reverse topo-order date-order author-date-order date: relative-date abbrev-commit no-abbrev-commit format: pretty? left-right cherry-pick cherry-mark cherry left-only right-only boundary ancestry-path simplify-by-decoration full-history source walk-reflogs parents children count min-parents: max-parents: no-notes no-mailmap use-mailmap root cc no-walk? notes? not glob: exclude: merge show-pulls'
const diffLetters = 'abB?C?DG:I:M?pRsS:uU?wWz'

/** git commands that only read. */
const readingVerbs: Readonly<Record<string, FlagTable>> = {
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

/** git commands that change the repository or its files and reach no other machine, with the flags that run nothing. */
const changingVerbs: Readonly<Record<string, FlagTable>> = {
  add: { short: 'AfnNuv', long: 'all force update dry-run verbose intent-to-add ignore-errors renormalize' },
  commit: {
    short: 'aC:m:nqsv',
    long: 'all message: amend no-edit quiet verbose signoff no-verify allow-empty author: date: fixup: squash: reset-author dry-run short status no-status only include no-gpg-sign trailer:',
  },
  checkout: { short: 'b:B:dfqt', long: 'force quiet track? no-track detach ours theirs orphan:' },
  switch: {
    short: 'c:C:dfqt',
    long: 'create: force-create: detach force discard-changes quiet track? no-track guess no-guess orphan:',
  },
  merge: {
    short: 'm:nqv',
    long: 'ff no-ff ff-only squash no-squash commit no-commit abort continue quit no-edit quiet verbose stat no-stat no-verify signoff',
  },
  restore: { short: 's:SWq', long: 'source: staged worktree quiet ours theirs' },
  reset: { short: 'qN', long: 'soft mixed hard merge keep quiet' },
  rm: { short: 'fnrq', long: 'force dry-run cached ignore-unmatch quiet' },
  mv: { short: 'fknv', long: 'force dry-run verbose' },
  'cherry-pick': { short: 'nxsm:', long: 'no-edit no-commit abort continue skip quit allow-empty mainline:' },
  revert: { short: 'nsm:', long: 'no-edit no-commit abort continue skip quit mainline:' },
}

/** What is known about git. Whether the repository is trusted is asked elsewhere. */
export const git: Program = reads(readGit, {
  version: '--version version',
  obeys: 'repository',
  changes: changeGit,
  writes: (words) => (isWriting(words) ? ['.'] : undefined),
  sends: isSending,
  isDeep: true,
  forgets: /^$/,
})

/** The verb of a git command, the words after it, and the options before it. */
export function gitVerb(words: readonly string[]): {
  options: readonly string[]
  verb: string
  rest: readonly string[]
} {
  let at = 0
  while (words[at]?.startsWith('-'))
    at += /^(-C|-c|--git-dir|--work-tree|--namespace|--super-prefix|--config-env)$/.test(words[at]!) ? 2 : 1
  return { options: words.slice(0, at), verb: words[at] ?? '', rest: words.slice(at + 1) }
}

function readGit(given: readonly Word[]): ReadArguments | string | undefined {
  const { options, verb, rest } = gitVerb(given.map(({ text }) => text))
  const option = options.find((text) => text !== '--no-pager')
  if (option !== undefined) return `${option} in front of the verb can make git run programs or go elsewhere`
  const table = tableOf(readingVerbs, verb)
  if (!table) return options.length === 0 ? undefined : `git ${verb} is not known to be read-only`
  const args = readFlags({ ...table, words: 'text' }, given.slice(given.length - rest.length))
  if (typeof args === 'string') return args
  const signed = args.flags.find(
    ({ name, value }) => /^--(format|pretty)$/.test(name) && /%[-+ ]?G|%\(sig|signature/i.test(value ?? ''),
  )
  if (signed) return `${signed.value} runs the program that checks signatures`
  // Other words may be revisions; these can only be files outside of the repository.
  const files = args.words.map(({ text }) => text).filter((text) => /^[/~]|(^|\/)\.\.(\/|$)/.test(text))
  return { ...args, reads: ['.', ...args.reads, ...files] }
}

function changeGit([verb, ...rest]: readonly Word[]): ReadArguments | string | undefined {
  const table = tableOf(changingVerbs, verb?.text ?? '')
  return table && readFlags(table, rest)
}

function tableOf(verbs: Readonly<Record<string, FlagTable>>, verb: string): FlagTable | undefined {
  return Object.hasOwn(verbs, verb) ? verbs[verb] : undefined
}

function isWriting(words: readonly string[]): boolean {
  if (isGitReading(words)) return false
  const { verb, rest } = gitVerb(words)
  if (/^(branch|tag|remote|stash)$/.test(verb)) return rest.length > 0 || verb === 'stash'
  return /^(add|am|apply|bisect|checkout|cherry-pick|clean|clone|commit|config|fetch|gc|init|merge|mv|notes|prune|pull|push|rebase|reset|restore|revert|rm|sparse-checkout|submodule|switch|update-index|update-ref|worktree)$/.test(
    verb,
  )
}

function isSending(words: readonly string[]): boolean {
  if (isGitReading(words)) return false
  const { verb, rest } = gitVerb(words)
  if (verb === 'remote') return /^(show|update|prune)$/.test(rest[0] ?? '')
  return /^(fetch|pull|push|clone|ls-remote|submodule|archive|send-email)$/.test(verb)
}

/** git commands without a table of flags that change nothing, with words that must follow where there are others. */
const otherReading: Readonly<Record<string, RegExp>> = {
  ...Object.fromEntries(
    `ls-tree cat-file rev-list merge-base for-each-ref show-ref name-rev check-ignore check-attr count-objects diff-tree
    diff-index diff-files whatchanged cherry range-diff var annotate`
      .split(/\s+/)
      .map((verb) => [verb, /^/]),
  ),
  config: /^(--(global|local|system|worktree) )?((--get\S*|--list|-l|get|list)( |$)|[\w-]+\.\S+$)/,
  reflog: /^($|show( |$)|-)/,
  stash: /^(list|show)( |$)/,
  worktree: /^list( |$)/,
  submodule: /^(status|summary)?( |$)/,
  notes: /^(list|show)( |$)/,
}

/** Whether a git command is known to only read the repository; its configuration may still make it run programs. */
export function isGitReading(words: readonly string[]): boolean {
  const { options, verb, rest } = gitVerb(words)
  if (!Object.hasOwn(otherReading, verb) || options.some((text) => /^(-c|--config-env|--exec-path)/.test(text)))
    return false
  return (
    otherReading[verb]!.test(rest.join(' ')) &&
    !rest.some((text) => /^(-o|--output|--textconv|--ext-diff|--filters)/.test(text))
  )
}

/** Whether a git command may show what a file held, also one that is hidden: it stands in the repository. */
export function showsHistory(words: readonly string[]): boolean {
  const { verb, rest } = gitVerb(words)
  if (verb === 'stash' || verb === 'worktree') return rest.join() !== 'list'
  if (verb === 'reflog' || verb === 'status')
    return rest.some((word) => word.startsWith('-') && !withoutContent.test(word))
  // A tag may name a file, and `%(raw)` is its content; what an expansion adds is not known.
  if (/^(branch|tag|for-each-ref)$/.test(verb)) return rest.some((word) => /%\(\*?raw|[$`]/.test(word))
  return !/^(remote|rev-parse|ls-files|ls-tree|describe|shortlog|config|merge-base|show-ref|count-objects|check-ignore|check-attr|rev-list|name-rev|version|--version|)$/.test(
    verb,
  )
}

/** Flags of lists. Others, such as `-v` and `-p`, add differences. */
const withoutContent =
  /^(-[sbz]|-sb|-n|-\d+|-u(no|all|normal)?|--(short|branch|porcelain|ignored|oneline|untracked-files)(=\w+)?)$/
