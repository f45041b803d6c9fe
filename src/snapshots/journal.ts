import { stagePath } from './apply-rollback.ts'
import type { GitName, GitRunner } from './git-runner.ts'
import type { NamedChange } from './plan-rollback.ts'
import { RollbackRefusedError } from './rollback-error.ts'
import type { Snapshot } from './snapshot.ts'
import { ownerWord } from './tidy.ts'
import type { Unkept } from './unkept-files.ts'

/** Written before the first file is changed; each change has what was there then as `after`. */
interface Journal {
  readonly owner: string
  readonly undo: Snapshot
  readonly detail: unknown
  readonly undoing: Undoing
}

/** What a rollback undoes. */
export interface Undoing {
  readonly changes: readonly NamedChange[]
  readonly edited: readonly GitName[]
  readonly leftOut: readonly GitName[]
  readonly unkept?: readonly Unkept[]
  readonly folders: { readonly before: readonly GitName[]; readonly after: readonly GitName[] }
}

const journalPath = (owner: string): string => `$private/journal.${ownerWord(owner)}`
const claimPath = (owner: string): string => `$private/claim.${ownerWord(owner)}`

/**
 * One rollback of a folder at a time: each would take what the other one does for changes of its own session. A claim is
 * written before those of others are read, so of two at the same time at least one is refused.
 */
export async function claimFolder(
  git: GitRunner,
  owner: string,
  isAtWork: (owner: string) => Promise<boolean>,
): Promise<void> {
  const claims = await git.run(claimScript(owner), { input: `${JSON.stringify(owner)}\n` })
  for (const line of claims.split('\n').filter(Boolean)) {
    const other: string = JSON.parse(line)
    if (other === owner || !(await isAtWork(other))) continue
    await endJournal(git, owner)
    const why = `session ${other} works in this folder and is being rolled back there; wait for its end`
    throw new RollbackRefusedError('at_work', why)
  }
}

/** A claim that is older than any rollback is that of a process which died before it wrote its journal. */
const claimScript = (owner: string): string => `
setup
find "$private" -name 'claim.*' -mmin +10 -exec rm -f {} +
cat >"${claimPath(owner)}"
cat "$private"/claim.*
`

export async function writeJournal(git: GitRunner, journal: Journal): Promise<void> {
  const path = journalPath(journal.owner)
  await git.run(`cat >"${path}.new"\nmv -f "${path}.new" "${path}"\n`, { input: JSON.stringify(journal) })
}

export async function readJournal(git: GitRunner, owner: string): Promise<Journal | undefined> {
  const text = await git.run(`cat "${journalPath(owner)}" 2>/dev/null || :\n`)
  return text.trim() === '' ? undefined : (JSON.parse(text) as Journal)
}

export async function journalOwners(git: GitRunner): Promise<readonly string[]> {
  const journals = (await git.run(readJournalsScript)).split('\n').filter(Boolean)
  return journals.map((text) => (JSON.parse(text) as Journal).owner)
}

const readJournalsScript = `
for one in "$private"/journal.*; do
  case $one in *.new) ;; *) [ ! -f "$one" ] || { cat "$one"; echo; } ;; esac
done
`

export async function endJournal(git: GitRunner, owner: string): Promise<void> {
  await git.run(`rm -rf "${journalPath(owner)}" "${claimPath(owner)}" "${stagePath(owner)}"\n`, { writes: true })
}
