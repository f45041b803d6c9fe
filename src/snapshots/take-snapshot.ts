import { failpoint } from '../core/log.ts'
import {
  foldersAbove,
  type GitName,
  type GitRunner,
  GitTimeoutError,
  hexNames,
  quoteName,
  SnapshotsUnavailableError,
  shownName,
} from './git-runner.ts'

/** The files of a folder at one time. Plain data, which can be logged and used by another process. */
export interface Snapshot {
  /** A commit in the private git folder. */
  readonly id: string
  /** The git tree of the files. Snapshots of equal files have the same tree. */
  readonly tree: string
  readonly takenAt: number
  /** Where it was taken. */
  readonly folder: string
  /** The first files that are not in the snapshot. */
  readonly leftOut: readonly LeftOut[]
  readonly leftOutCount: number
}

/** A file that is not in a snapshot. */
export interface LeftOut {
  readonly path: string
  readonly why: string
}

export interface TakeOptions {
  readonly maxFiles: number
  readonly maxFileBytes: number
  readonly now: number
  /** The session that the snapshot belongs to, as a word for names of refs. */
  readonly owner: string
  /** For names of temporary files. */
  readonly token: string
  readonly signal?: AbortSignal | undefined
}

/** What a snapshot says about its folder besides the files in it. */
export interface SnapshotMeta {
  /** Files that existed but are not in the snapshot, and why: a rollback must leave them alone. Repositories end with `/`. */
  readonly leftOut: readonly (readonly [GitName, string])[]
  /** Folders without any file that is in the snapshot, each ended by `/`. */
  readonly folders: readonly GitName[]
}

/** Takes a snapshot. Rejects with `SnapshotsUnavailableError` if that is impossible. */
export async function takeSnapshot(git: GitRunner, options: TakeOptions): Promise<Snapshot> {
  // Files may change while git reads them; after the second failure the index may be damaged.
  for (const index of ['kept', 'kept', 'new'] as const)
    try {
      return await attempt(git, options, index)
    } catch (error) {
      const isLast = index === 'new' || error instanceof GitTimeoutError || error instanceof TooManyFilesError
      if (isLast || !(error instanceof SnapshotsUnavailableError)) throw error
    }
  throw new Error('unreachable')
}

async function attempt(git: GitRunner, options: TakeOptions, index: 'kept' | 'new'): Promise<Snapshot> {
  const { signal, maxFiles } = options
  const scan = readScan(await git.run(scanScript(options, index), { signal }))
  if (scan.committed) {
    failpoint('snapshot.committed')
    return snapshotOf(scan.committed, nothingElse, { ...options, folder: scan.folder })
  }
  failpoint('snapshot.scanned')
  if (scan.update.length > maxFiles)
    throw new TooManyFilesError(
      `the folder has ${scan.update.length} files that are not ignored, more than maxFiles (${maxFiles}); ignore some, or raise it`,
    )
  let { meta } = scan
  const isUpdated = scan.update.length + scan.remove.length > 0
  if (!isUpdated && scan.last?.meta === JSON.stringify(meta)) {
    // It belongs to this session too.
    const ref = refOf(options.owner, scan.last.id)
    if (!scan.isOwn) await git.run(`ours update-ref '${ref}' ${scan.last.id}\n`, { signal })
    return snapshotOf(scan.last, meta, { ...options, folder: scan.folder })
  }
  const names = namesToUpdate(scan)
  let update = isUpdated ? updateScript(scan) : ''
  if (isUpdated && scan.hasNewFolders) {
    // Folders without files show only once the files beside them are in the index.
    const others = await git.run(`${lockScript(options)}${update}others | withoutPlaceholders | hex\n`, {
      input: inputOf(meta, names),
      signal,
    })
    failpoint('snapshot.updated')
    const folders = hexNames(others).filter((name) => name.endsWith('/'))
    meta = metaOf(meta.leftOut, folders)
    update = ''
  }
  const input = inputOf(meta, update === '' ? [] : names)
  const written = await git.run(
    `${lockScript(options)}${update}${treeScript}writeTree
${commitScript(options)}`,
    { input, signal },
  )
  failpoint('snapshot.committed')
  const [id = '', tree = ''] = written.trim().split(' ')
  return snapshotOf({ id, tree }, meta, { ...options, folder: scan.folder })
}

class TooManyFilesError extends SnapshotsUnavailableError {}

function snapshotOf(
  { id, tree }: Pick<Snapshot, 'id' | 'tree'>,
  { leftOut }: SnapshotMeta,
  { now, folder }: { readonly now: number; readonly folder: string },
): Snapshot {
  const first = leftOut.slice(0, 20).map(([name, why]) => ({ path: shownName(name), why }))
  return { id, tree, takenAt: now, folder, leftOut: first, leftOutCount: leftOut.length }
}

/**
 * Lists what differs from the index, in the time of a `git status`: two processes read the known files and the folders. A few
 * files that need no second look are committed at once: another script would cost as much as their commit.
 * Folders that have no known file are looked into, as files may have been added there. No name begins with `/`: it marks the letters of
 * `diff-files`, and twice the names of the lists.
 */
const scanScript = (options: TakeOptions, index: 'kept' | 'new'): string => `
setup
${index === 'new' ? 'lock "$index" "$private"/sharedindex* "$private/tracked" "$private/last"; ours read-tree --empty' : ''}
t=$private/tmp.${options.token}
trap 'rm -f "$t".*; unlock' EXIT
others >"$t.others" &
listing=$!
atTop diff-files --line-prefix=/ --relative --name-status -z -- . >"$t.status"
# Files that the repository has although it ignores them.
if [ -f "$tracked" ] && ! [ "$private/tracked" -nt "$tracked" ]; then
  : >"$private/tracked.new"
  user ls-files -z --cached --ignored --exclude-standard >"$t.tracked"
  [ -s "$t.tracked" ] || mv -f "$private/tracked.new" "$private/tracked"
fi
${commitAtOnceScript(options)}
# Large files, unreadable ones, and folders. find would take a name such as -delete as an option.
check() {
  xargs -0 sh -c '
isOdd=
for p; do
  case $p in /*) continue ;; [!A-Za-z0-9._]*) isOdd=true ;; esac
  if [ -h "./$p" ]; then continue; fi
  if [ -d "./$p" ]; then printf "%s/\\0" "$p" >&4
  elif [ -e "./$p" ] && [ ! -r "./$p" ]; then printf "%s\\0" "$p" >&3; fi
done
if [ -z "$isOdd" ]; then exec find "$@" -prune -type f -size +${options.maxFileBytes}c -print0; fi
printf "./%s\\0" "$@" | xargs -0 sh -c "exec find \\"\\$@\\" -prune -type f -size +${options.maxFileBytes}c -print0" sh
' sh >>"$t.big" 2>/dev/null 3>>"$t.closed" 4>>"$1" || :
}
[ ! -s "$t.others" ] || { withoutPlaceholders <"$t.others" >"$t.kept"; mv -f "$t.kept" "$t.others"; }
# Git does not list a folder in the place of a file that it knows.
[ ! -s "$t.status" ] || check "$t.others" <"$t.status"
[ ! -s "$t.others" ] || othersIn <"$t.others" >"$t.files"
if [ -s "$t.files" ] || [ -s "$t.tracked" ]; then
  : >>"$t.files" >>"$t.tracked"
  cat "$t.files" "$t.tracked" | check /dev/null
fi
if [ -s "$t.others" ] || [ -s "$t.status" ] || [ -s "$t.tracked" ]; then
  set --
  for list in status others files tracked big closed; do
    printf '//%s\\0' $list >"$t.$list.name"
    : >>"$t.$list"
    set -- "$@" "$t.$list.name" "$t.$list"
  done
  hex "$@"
fi
if [ -n "$id" ]; then
  if [ -f "$private/refs/snapshots/${options.owner}/$id" ]; then echo //own; fi
  echo //last
  if [ "$is" = whole ]; then printf '%s %s\\n%s\\n' "$id" "$lastTree" '${JSON.stringify(nothingElse)}'; else cat "$private/last"; fi
fi
echo "//folder
$folder"
`

/**
 * Known files that changed are put into the index while the folders are still being listed; with new ones they are committed.
 * Names are arguments here, because a shell reads no NUL. If one of them is a folder, large or unreadable, or if they are
 * many, or after any failure, the longer way is taken, which does all of it again. Files that are gone get a list of their
 * own, because `--remove` refuses what is behind a link.
 */
const commitAtOnceScript = (options: TakeOptions): string => `
isSimple() {
  xargs -0 <"$1" sh -c 'set -e
if [ $# -gt ${Math.min(options.maxFiles, 1000)} ] || [ -e "$0.gone" ]; then : >"$0.many"; exit; fi
: >"$0.gone"
isGone=
for p; do
  shift
  case $p in /D) isGone=true; continue ;; /*) continue ;; esac
  if [ ! -h "./$p" ]; then [ ! -d "./$p" ] && { [ ! -e "./$p" ] || [ -r "./$p" ]; } || exit 1; fi
  if [ -n "$isGone" ]; then printf "%s\\0" "$p" >>"$0.gone"; else set -- "$@" "./$p"; fi
  isGone=
done
[ $# -gt 0 ] || exit 0
printf "%s\\0" "$@" >"$0.given"
exec find "$@" -prune -type f -size +${options.maxFileBytes}c >"$0.large"' "$1" 2>/dev/null || return 1
  [ ! -e "$1.many" ] && [ ! -s "$1.large" ]
}
readLast() {
  id= lastTree= is=
  [ ! -s "$private/last" ] || read -r id lastTree is <"$private/last" || :
}
${treeScript}
updateIndex() {
  if [ -z "$locked" ]; then
    lock
    trap 'unlock "$t".*' EXIT
    : >"$private/last"
  fi
  [ ! -s "$1.gone" ] || atTop update-index --force-remove -z --stdin <"$1.gone"
  [ ! -s "$1.given" ] || atTop update-index --add --remove --replace -z --stdin <"$1.given"
  writeTree
}
tree=
readLast
[ ! -s "$t.tracked" ] || is=
mayBeWhole=$is
if [ -n "$mayBeWhole" ] && [ -s "$t.status" ] && isSimple "$t.status"; then updateIndex "$t.status"; fi
wait $listing
# What another process has committed before now has the files that the lists do not name.
readLast
if [ -s "$t.others" ] && { [ -n "$tree" ] || [ ! -s "$t.status" ]; }; then
  tree=
  if [ -n "$mayBeWhole" ] && isSimple "$t.others"; then updateIndex "$t.others"; fi
fi
if [ -n "$tree" ]; then
  meta='${JSON.stringify(nothingElse)}'
  echo //committed
  ${commitScript(options)}
  echo "//folder
$folder"
  exit
fi
`

interface Scan {
  readonly update: readonly GitName[]
  readonly remove: readonly GitName[]
  readonly meta: SnapshotMeta
  readonly hasNewFolders: boolean
  /** The snapshot that was taken last. */
  readonly last: { readonly id: string; readonly tree: string; readonly meta: string } | undefined
  /** Whether that one belongs to this session. */
  readonly isOwn: boolean
  /** The snapshot that was taken at once. */
  readonly committed: Pick<Snapshot, 'id' | 'tree'> | undefined
  readonly folder: string
}

function readScan(printed: string): Scan {
  const [hex = '', ...texts] = printed.split(/^\/\//m)
  const parts = new Map(texts.map((text) => splitAt(text, '\n')))
  const lists = listsIn(hexNames(hex))
  const names = (list: string): readonly GitName[] => lists.get(list) ?? []
  const big = new Set(names('big'))
  const closed = new Set(names('closed'))
  const leftOut = new Map<GitName, string>()
  const update: GitName[] = []
  const remove: GitName[] = []
  const sort = (name: GitName, isKnown: boolean): void => {
    const why = reasonToLeaveOut(name, big, closed)
    if (why === undefined) update.push(name)
    else leftOut.set(name, why)
    if (why !== undefined && isKnown) remove.push(name)
  }
  const status = names('status')
  for (let i = 0; i + 1 < status.length; i += 2) {
    if (status[i] === '/D') remove.push(status[i + 1]!)
    else sort(status[i + 1]!, true)
  }
  const files = [...names('files'), ...names('tracked')]
  for (const name of files) sort(name, false)
  const others = names('others')
  const [last = '', meta = ''] = splitAt(parts.get('last') ?? '', '\n')
  const [id = '', tree = ''] = last.split(' ')
  const [newId = '', newTree = ''] = (parts.get('committed') ?? '').trim().split(' ')
  return {
    update,
    remove,
    meta: metaOf([...leftOut], foldersIn(others, files)),
    hasNewFolders: others.some((name) => name.endsWith('/') && !leftOut.has(name)) && update.length > 0,
    last: tree === '' ? undefined : { id, tree, meta: meta.trimEnd() },
    isOwn: parts.has('own'),
    committed: newTree === '' ? undefined : { id: newId, tree: newTree },
    folder: (parts.get('folder') ?? '').replace(/\n$/, ''),
  }
}

/** Lists of names, each after its own name with `//`. */
function listsIn(names: readonly GitName[]): ReadonlyMap<string, readonly GitName[]> {
  const lists = new Map<string, GitName[]>()
  let list: GitName[] = []
  for (const name of names) {
    if (!name.startsWith('//')) list.push(name)
    else lists.set(name.slice(2), (list = []))
  }
  return lists
}

function reasonToLeaveOut(name: GitName, big: ReadonlySet<GitName>, closed: ReadonlySet<GitName>): string | undefined {
  if (name.endsWith('/')) return 'a repository of its own'
  if (big.has(name)) return 'too large'
  return closed.has(name) ? 'cannot be read' : undefined
}

/** Folders without files; a list of thousands would be that of a program, not of a person. */
function metaOf(leftOut: SnapshotMeta['leftOut'], folders: readonly GitName[]): SnapshotMeta {
  const isRepository = new Set(leftOut.map(([name]) => name))
  const own = folders.filter((name) => !isRepository.has(name))
  return { leftOut: leftOut.toSorted(byName), folders: own.toSorted().slice(0, mostFolders) }
}

const mostFolders = 2000
/** Of a folder whose files are all in the snapshot. */
const nothingElse: SnapshotMeta = { leftOut: [], folders: [] }
const byName = ([a]: readonly [GitName, string], [b]: readonly [GitName, string]): number =>
  a < b ? -1 : Number(a > b)

function foldersIn(others: readonly GitName[], files: readonly GitName[]): readonly GitName[] {
  const filled = new Set(files.flatMap((name) => [name, ...foldersAbove(name).map((folder) => `${folder}/`)]))
  return others.filter((name) => name.endsWith('/') && !filled.has(name))
}

function splitAt(text: string, at: string): [string, string] {
  const index = text.indexOf(at)
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + at.length)]
}

const refOf = (owner: string, commit: string): string => `refs/snapshots/${owner}/${commit}`

const inputOf = (meta: SnapshotMeta, names: readonly string[]): string =>
  [JSON.stringify(meta), ...names, ''].join('\n')

/**
 * The note of the last snapshot is emptied first: if this process dies before the next one is committed, the index is not
 * that of the last snapshot any more, though nothing differs from it. A part of a note is none: it ends with what is compared.
 */
const lockScript = ({ token }: TakeOptions): string => `
lock
: >"$private/last"
t=$private/tmp.${token}
trap 'unlock "$t".*' EXIT
IFS= read -r meta
`

/** Many files at once go into one pack instead of a file each. */
function updateScript({ remove, update }: Pick<Scan, 'remove' | 'update'>): string {
  const isLarge = update.length > 1000
  const removing = 'atTop update-index --force-remove --stdin'
  const updating = `atTop ${isLarge ? '-c core.bigFileThreshold=1 ' : ''}update-index --add --remove --replace --stdin`
  const splitting = isLarge ? ': >"$private/split"; split=true\n' : ''
  if (remove.length === 0) return `${splitting}${updating}\n`
  if (update.length === 0) return `${removing}\n`
  return `${splitting}cat >"$t.given"
sed -n 's/^-//p' "$t.given" | ${removing}
sed -n 's/^+//p' "$t.given" | ${updating}
`
}

function namesToUpdate({ remove, update }: Pick<Scan, 'remove' | 'update'>): readonly string[] {
  const isBoth = remove.length > 0 && update.length > 0
  const line = (mark: string) => (name: GitName) => (isBoth ? mark : '') + quoteName(name)
  return [...remove.map(line('-')), ...update.map(line('+'))]
}

/** By a file, because a substitution is one more process. */
const treeScript = `
writeTree() {
  if [ -z "$prefix" ] || atTop ls-files -- . | grep -q .; then atTop write-tree \${prefix:+--prefix="$prefix"} >"$t.tree"
  else ours mktree </dev/null >"$t.tree"; fi
  read -r tree <"$t.tree"
}
`

const commitScript = ({ now, owner }: TakeOptions): string => `
export GIT_AUTHOR_NAME=libero GIT_AUTHOR_EMAIL=libero@localhost GIT_AUTHOR_DATE='@${Math.floor(now / 1000)} +0000'
export GIT_COMMITTER_NAME=libero GIT_COMMITTER_EMAIL=libero@localhost GIT_COMMITTER_DATE="$GIT_AUTHOR_DATE"
ours commit-tree "$tree" >"$t.commit" <<end
$meta
end
read -r commit <"$t.commit"
ours update-ref "${refOf(owner, '$commit')}" "$commit"
[ ! -f "$private/tracked.new" ] || mv -f "$private/tracked.new" "$private/tracked"
is=
[ "$meta" != '${JSON.stringify(nothingElse)}' ] || is=whole
printf '%s %s %s\\n%s\\n' "$commit" "$tree" "$is" "$meta" >"$private/last"
printf '%s %s\\n' "$commit" "$tree"
`
