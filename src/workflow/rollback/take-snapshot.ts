import {
  foldersAbove,
  type GitName,
  type GitRunner,
  GitTimeoutError,
  hexNames,
  quoteName,
  SnapshotsUnavailableError,
  shownName,
  unquoteName,
} from './git-runner.ts'

/** The files of a folder at one time. Plain data, which can be logged and used by another process. */
export interface Snapshot {
  /** A commit, kept by a ref under `refs/libero/snapshots`. */
  readonly id: string
  /** The git tree of the files. Snapshots of equal files have the same tree. */
  readonly tree: string
  readonly takenAt: number
  /** Where it was taken, and the ref that keeps it; absent in snapshots of earlier versions. Equal commits may have two. */
  readonly folder?: string
  readonly ref?: string
  /** The first files that are not in the snapshot. */
  readonly leftOut: readonly LeftOut[]
  readonly leftOutCount: number
}

/** A file that is not in a snapshot. */
export interface LeftOut {
  readonly path: string
  readonly why: string
}

interface TakeOptions {
  readonly maxFiles: number
  readonly maxFileBytes: number
  /** How many snapshots of a repository are kept. */
  readonly keep: number
  readonly now: number
  /** For names of temporary files. */
  readonly token: string
  readonly signal?: AbortSignal | undefined
}

/** Files that existed but are not in the snapshot: a rollback must leave them alone. */
export interface UnsavedFiles {
  /** Ignored files; folders end with `/`. */
  readonly ignored: readonly GitName[]
  readonly leftOut: readonly GitName[]
  /** There were more ignored files than are listed. */
  readonly isCut: boolean
}

/** Takes a snapshot. Rejects with `SnapshotsUnavailableError` if that is impossible. */
export async function takeSnapshot(git: GitRunner, options: TakeOptions): Promise<Snapshot> {
  try {
    return await attempt(git, options, 'update')
  } catch (error) {
    if (!(error instanceof SnapshotsUnavailableError) || error instanceof GitTimeoutError) throw error
    // The index may be outdated or damaged.
    return attempt(git, options, 'new')
  }
}

async function attempt(git: GitRunner, options: TakeOptions, index: 'update' | 'new'): Promise<Snapshot> {
  const { signal, maxFiles } = options
  const found = readListing(await git.run(listScript(options, index), { signal }))
  const { keep, drop, leftOut } = sortOut(found)
  if (keep.length > maxFiles)
    throw new SnapshotsUnavailableError(
      `the folder has ${keep.length} files that are not ignored, more than maxFiles (${maxFiles}); ignore some, or raise it`,
    )
  const unsaved: UnsavedFiles = {
    ignored: found.ignored.slice(0, mostIgnored),
    leftOut: leftOut.map(([name]) => name),
    isCut: found.ignored.length > mostIgnored,
  }
  const lines = [JSON.stringify(unsaved), ...drop.map((name) => `-${quoteName(name)}`), ...keep.map(toKeep), '']
  const written = await git.run(writeScript(options), { input: lines.join('\n'), signal })
  const [ids = '', folder] = written.trim().split('\n')
  const [id, tree] = ids.split(' ')
  return {
    id: id!,
    tree: tree!,
    takenAt: options.now,
    ...(folder && { folder }),
    ref: refOf(options),
    leftOut: leftOut.slice(0, 20).map(([name, why]) => ({ path: shownName(name), why })),
    leftOutCount: leftOut.length,
  }
}

const mostIgnored = 20_000
const toKeep = (name: GitName): string => `+${quoteName(name)}`

/** No name begins with `//`, so it separates the lists. */
const listScript = ({ token, maxFileBytes }: TakeOptions, start: 'update' | 'new'): string => `
[ "$top" = "$folder" ] || ! GIT_LITERAL_PATHSPECS=0 git -C "$top" -c core.fsmonitor=false check-ignore -q --no-index -- "$folder" ||
  unavailable 'this folder is ignored by its repository'
setup
index=$private/index.${token}
find "$private" -name 'index.*' -mtime +0 -exec rm -f {} +
${start === 'new' ? 'rm -f "$index" "$index.lock" "$private/index"' : ''}
# With its time, by which git knows which files may have changed within the second in which it was written.
if [ -f "$private/index" ]; then cp -p "$private/index" "$index"; else ours read-tree --empty; fi
echo //cached; ours ls-files --cached
echo //tracked; user ls-files --cached --ignored --exclude-standard
echo //others; listing ls-files --others --exclude-standard -- .
echo //ignored; listing ls-files --others --ignored --exclude-standard --directory -- . | head -n ${mostIgnored + 1}
echo //big; find . -name .git -prune -o -type f -size +${maxFileBytes}c -print0 | od -An -v -tx1
`

interface Listing {
  readonly cached: readonly GitName[]
  readonly others: readonly GitName[]
  readonly ignored: readonly GitName[]
  readonly big: ReadonlySet<GitName>
}

function readListing(printed: string): Listing {
  const lists = new Map<string, string[]>()
  let current: string[] = []
  for (const line of printed.split('\n')) {
    if (line.startsWith('//')) lists.set(line.slice(2), (current = []))
    else if (line !== '') current.push(line)
  }
  const names = (list: string): GitName[] => (lists.get(list) ?? []).map(unquoteName)
  const cached = names('cached')
  const isCached = new Set(cached)
  const tracked = names('tracked').filter((name) => !isCached.has(name))
  const isKnown = new Set([...cached, ...tracked])
  return {
    cached: [...cached, ...tracked],
    others: names('others').filter((name) => !isKnown.has(name)),
    ignored: names('ignored').filter((name) => !isKnown.has(name)),
    big: new Set(hexNames((lists.get('big') ?? []).join(' '))),
  }
}

interface Sorted {
  /** In the order of bytes: a former file comes before the files in a folder of the same name. */
  readonly keep: readonly GitName[]
  /** In the index, but to be removed from it. */
  readonly drop: readonly GitName[]
  readonly leftOut: readonly (readonly [GitName, string])[]
}

function sortOut({ cached, others, big }: Listing): Sorted {
  const leftOut: [GitName, string][] = []
  const keep: GitName[] = []
  const drop: GitName[] = []
  const folders = new Set(others.flatMap(foldersAbove))
  const isThere = new Set(others.map((name) => name.replace(/\/$/, '')))
  for (const name of others) {
    if (name.endsWith('/')) leftOut.push([name, 'a repository of its own'])
    else if (big.has(name)) leftOut.push([name, 'too large'])
    else keep.push(name)
  }
  for (const name of cached) {
    const isReplaced = folders.has(name) || foldersAbove(name).some((folder) => isThere.has(folder))
    if (big.has(name)) leftOut.push([name, 'too large'])
    if (isReplaced || big.has(name)) drop.push(name)
    else keep.push(name)
  }
  return { keep: keep.sort(byBytes), drop, leftOut }
}

const byBytes = (a: GitName, b: GitName): number => (a < b ? -1 : Number(a > b))

/** Sorted by time. */
const refOf = ({ now, token }: Pick<TakeOptions, 'now' | 'token'>): string =>
  `refs/libero/snapshots/${String(Math.floor(now)).padStart(14, '0')}-${token}`

const writeScript = ({ token, keep, now }: TakeOptions): string => `
index=$private/index.${token}
given=$index.given
cat >"$given"
sed -n 's/^-//p' "$given" | ours update-index --force-remove --stdin
sed -n 's/^+//p' "$given" | ours update-index --add --remove --replace --stdin
meta=$(head -n 1 "$given" | ours hash-object -w --stdin)
rm -f "$given"
tree=$(ours write-tree)
both=$(printf '040000 tree %s\\tfiles\\n100644 blob %s\\tmeta\\n' "$tree" "$meta" | ours mktree)
export GIT_AUTHOR_NAME=libero GIT_AUTHOR_EMAIL=libero@localhost GIT_AUTHOR_DATE='@${Math.floor(now / 1000)} +0000'
export GIT_COMMITTER_NAME=libero GIT_COMMITTER_EMAIL=libero@localhost GIT_COMMITTER_DATE="$GIT_AUTHOR_DATE"
commit=$(printf 'files of a folder, to be able to go back to them\\n\\nfolder /%s\\n' "$prefix" | ours commit-tree "$both")
user update-ref '${refOf({ now, token })}' "$commit"
user for-each-ref --format='delete %(refname)' --sort=-refname refs/libero/snapshots/ | tail -n +${keep + 1} |
  user update-ref --stdin
mv -f "$index" "$private/index"
printf '%s %s\\n%s\\n' "$commit" "$tree" "$folder"
`
