import { join } from 'node:path'
import { type Grant, grantId } from '../../authority/grants/grant.ts'
import { createGrantFile, type GrantFile } from '../../authority/grants/grant-file.ts'
import { createGrants } from '../../authority/grants/grants.ts'
import { placeWords } from '../../authority/interaction/approval-options.ts'
import { systemClock } from '../../core/clock.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { formatDate } from '../../tui/rows/format.ts'
import { CliError, exitCodes, UsageError } from '../cli-error.ts'
import type { Args } from '../command.ts'
import type { Io } from '../io.ts'
import { realFolder } from '../sessions/session-folder.ts'
import { jsonText } from '../text.ts'

/** `libero grants list`. */
export async function list({ values }: Args<{ all?: boolean; json?: boolean }>, io: Io): Promise<number> {
  const file = fileOf(io)
  const all = await currentGrants(file)
  const shown = values.all ? all : inThisProject(all, io)
  if (values.json) {
    io.out(jsonText(shown.map((grant) => ({ id: grantId(grant), ...grant }))))
    return exitCodes.done
  }
  for (const grant of shown) for (const line of describe(grant)) io.out(line)
  if (shown.length === 0) io.err(values.all ? 'No approval is kept.' : 'No approval is kept for this project.')
  const others = all.length - shown.length
  if (others > 0) io.err(`${others} in other projects: libero grants --all`)
  const { grants: ignored } = await file.ignored()
  if (ignored.length > 0)
    io.err(`${ignored.length} of an earlier version do not count; to remove them: libero grants revoke --all`)
  return exitCodes.done
}

/** `libero grants revoke`. */
export async function revoke({ values, words }: Args<{ all?: boolean }>, io: Io): Promise<number> {
  if (values.all && words.length > 0) throw new UsageError('--all and ids do not go together; choose one of them')
  if (!values.all && words.length === 0)
    throw new UsageError('which approval? Name its id, which libero grants shows, or add --all')
  const file = fileOf(io)
  const known = await currentGrants(file)
  const ids = new Set((values.all ? known : words.map((word) => oneNamed(word, known))).map(grantId))
  await file.change((grants) => (values.all ? [] : grants.filter((grant) => !ids.has(grantId(grant)))))
  if (values.all) await file.forgetIgnored()
  for (const grant of known) if (ids.has(grantId(grant))) io.out(`revoked: ${fullyVisible(grant.covers)}`)
  if (ids.size === 0) io.err('No approval was kept.')
  return exitCodes.done
}

/** The approvals that count now, of all projects. */
export const keptGrants = (io: Pick<Io, 'home'>): Promise<readonly Grant[]> => currentGrants(fileOf(io))

/** Revokes one approval by its id. False if there is none. */
export async function revokeGrant(id: string, io: Pick<Io, 'home'>): Promise<boolean> {
  if (!(await keptGrants(io)).some((grant) => grantId(grant) === id)) return false
  await fileOf(io).change((grants) => grants.filter((grant) => grantId(grant) !== id))
  return true
}

/** How many approvals are kept for this project. */
export async function countKeptHere(io: Io): Promise<number> {
  return inThisProject(await keptGrants(io), io).length
}

function inThisProject(grants: readonly Grant[], { cwd }: Io): readonly Grant[] {
  const here = realFolder(cwd)
  return grants.filter(({ project }) => project === here)
}

const fileOf = ({ home }: Pick<Io, 'home'>): GrantFile => createGrantFile(join(home, 'grants.json'))

async function currentGrants(store: GrantFile): Promise<readonly Grant[]> {
  const grants = createGrants({ clock: systemClock, store })
  await grants.load()
  return grants.list()
}

function oneNamed(word: string, known: readonly Grant[]): Grant {
  const found = known.filter((grant) => grantId(grant).startsWith(word))
  if (found.length === 1 && word !== '') return found[0]!
  const problem =
    found.length === 0 ? 'no approval has the id' : `${found.length} approvals have an id that begins with`
  throw new CliError(`${problem} "${fullyVisible(word)}"; libero grants --all lists them`)
}

function describe(grant: Grant): string[] {
  const { tool, covers, scope, sessionId = '', project, within, grantedBy, grantedAt, expiresAt, bound } = grant
  const facts = [
    scope === 'project' ? `always in ${project}` : `in the session ${sessionId}, in ${project}`,
    ...(within ? [placeWords(within)] : []),
    ...(bound ? [`as long as ${Object.keys(bound).join(', ')} stay as they are`] : []),
    `approved by ${grantedBy} on ${formatDate(grantedAt)}`,
    ...(expiresAt === undefined ? [] : [`until ${formatDate(expiresAt)}`]),
  ]
  return [`${grantId(grant)}  ${tool}: ${covers}`, `    ${facts.join('; ')}`].map((line) => fullyVisible(line))
}
