import { isRecord } from '../../core/is-record.ts'
import type { LogEntry } from '../../core/log.ts'
import type { SessionSummary } from '../../core/store.ts'
import { eachEntry } from '../../sessions/history.ts'
import type { ChangedFile } from '../../snapshots/changed-files.ts'
import { RollbackRefusedError } from '../../snapshots/rollback-error.ts'
import type { SessionRollbackPlan } from '../../snapshots/session-rollback.ts'
import type { Snapshots } from '../../snapshots/snapshots.ts'
import type { RollbackScope } from '../../snapshots/timeline.ts'
import { badRequest, checked, notOffered, Problem, refuseSubAgent } from '../problem.ts'
import { type Call, json, type Route } from '../route.ts'
import type { OpenWorkspace } from '../workspaces.ts'

const paths = { type: 'array', items: { type: 'string' } }
const conflicts = {
  type: 'array',
  items: {
    type: 'object',
    required: ['path', 'why'],
    properties: { path: { type: 'string' }, why: { type: 'string' } },
  },
}
const after = { type: 'integer', description: 'Only what was changed after this entry' }
const what = {
  type: 'string',
  enum: ['conversation', 'files', 'both'],
  description: 'Default: both, or the conversation if the files were not kept',
}
const force = { type: 'boolean', description: 'Files that others changed since are restored too' }

const doneAnswer = {
  200: {
    description: 'What was done',
    schema: {
      type: 'object',
      required: ['turns'],
      properties: {
        turns: { type: 'integer' },
        files: {
          type: 'object',
          required: ['restored', 'deleted', 'conflicts', 'failed'],
          properties: { restored: paths, deleted: paths, conflicts, failed: paths },
        },
      },
    },
    example: { turns: 2, files: { restored: ['a.ts'], deleted: [], conflicts: [], failed: [] } },
  },
  409: { description: 'Nothing was changed: at_work, not_kept, cut_off, nothing_to_undo, went_on' },
}

/** The files that a session changed, and the way back. */
export const sessionFilesRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/sessions/{id}/files',
    scope: 'read',
    summary: 'The files that a session changed, from its snapshots, else from what its tools logged',
    query: { after },
    answers: {
      200: {
        description: 'Sorted by path. `whyNoSnapshots` says why they come from the log',
        schema: {
          type: 'object',
          required: ['from', 'files'],
          properties: {
            from: { type: 'string', enum: ['snapshots', 'log'] },
            whyNoSnapshots: { type: 'string' },
            files: {
              type: 'array',
              items: {
                type: 'object',
                required: ['path', 'kind'],
                properties: {
                  path: { type: 'string' },
                  kind: { type: 'string', enum: ['added', 'changed', 'deleted'] },
                  added: { type: 'integer', description: 'Lines; absent if it is no text' },
                  removed: { type: 'integer' },
                },
              },
            },
          },
        },
        example: { from: 'snapshots', files: [{ path: 'src/a.ts', kind: 'changed', added: 3, removed: 1 }] },
      },
    },
    handle: listFiles,
  },
  {
    method: 'GET',
    path: '/v1/sessions/{id}/files/diff',
    scope: 'read',
    summary: 'What a session changed in one file, as a unified diff of at most 256 KiB',
    query: { path: { type: 'string' }, after },
    answers: {
      200: {
        description: 'The diff; those of the log stand one after the other',
        schema: {
          type: 'object',
          required: ['path', 'diff', 'isCut'],
          properties: { path: { type: 'string' }, diff: { type: 'string' }, isCut: { type: 'boolean' } },
        },
        example: { path: 'a.txt', diff: '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n', isCut: false },
      },
      404: { description: 'The session did not change this file' },
    },
    handle: showDiff,
  },
  {
    method: 'GET',
    path: '/v1/sessions/{id}/rollback',
    scope: 'read',
    summary: 'What going back to an entry would do to conversation and files',
    query: { to: { type: 'integer', description: 'The last entry that stays' }, what, force },
    answers: {
      200: {
        description: 'How many turns would leave, and which files would be restored, deleted or kept',
        schema: {
          type: 'object',
          required: ['turns'],
          properties: {
            turns: { type: 'integer' },
            files: {
              type: 'object',
              required: ['restore', 'delete', 'conflicts'],
              properties: { restore: paths, delete: paths, conflicts },
            },
            whyNoFiles: { type: 'string' },
          },
        },
        example: { turns: 2, files: { restore: ['a.ts'], delete: [], conflicts: [] } },
      },
    },
    async handle(call) {
      const { to, ...rest } = call.query as RollbackRequest
      if (to === undefined) throw badRequest('?to= is missing: the number of the last entry that stays')
      return withSnapshots(call, async (snapshots, { session }) => {
        const { turns, ...plan } = await planned(snapshots, session, { to, ...rest })
        return json({ turns: turns.length, ...plan })
      })
    },
  },
  {
    method: 'POST',
    path: '/v1/sessions/{id}/rollback',
    scope: 'send',
    summary: 'Goes back to an entry: turns leave the conversation, files are restored, or both',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['to'],
      properties: { to: { type: 'integer', minimum: 0 }, what, force },
    },
    answers: doneAnswer,
    handle: (call) =>
      withSnapshots(call, async (snapshots, { session }) => {
        const request = call.body as unknown as RollbackRequest & { readonly to: number }
        const { to, force: isForced = false } = request
        const scope = request.what ?? ((await planned(snapshots, session, request)).files ? 'both' : 'conversation')
        return json(await checked(snapshots.rollback(session, { to, scope, force: isForced })))
      }),
  },
  {
    method: 'POST',
    path: '/v1/sessions/{id}/rollback/undo',
    scope: 'send',
    summary: 'Undoes the last rollback; a second time it is made again',
    body: { type: 'object', additionalProperties: false, properties: { force } },
    answers: doneAnswer,
    handle: (call) =>
      withSnapshots(call, async (snapshots, { session }) =>
        json(await snapshots.undoRollback(session, { force: call.body.force === true })),
      ),
  },
]

interface RollbackRequest {
  readonly to?: number
  readonly what?: RollbackScope
  readonly force?: boolean
}

async function listFiles({ params, query, names, server }: Call): Promise<Response> {
  const summary = await names.find(server.store, params.id!)
  const since = Number(query.after ?? 0)
  const kept = await fromSnapshots(server, summary, (snapshots, { session }) =>
    snapshots.changedFiles(session, { after: since }),
  )
  if ('found' in kept) return json({ from: 'snapshots', files: kept.found })
  const { files } = await loggedChanges(server, summary, since)
  return json({ from: 'log', whyNoSnapshots: kept.why, files })
}

async function showDiff({ params, query, names, server }: Call): Promise<Response> {
  const summary = await names.find(server.store, params.id!)
  const path = String(query.path ?? '')
  if (path === '') throw badRequest('?path= is missing: the path of the file, as GET …/files has it')
  const since = Number(query.after ?? 0)
  const kept = await fromSnapshots(server, summary, (snapshots, { session }) =>
    snapshots.diffOfFile(session, { path, after: since, mostBytes }),
  )
  if ('found' in kept && kept.found) return json({ path, ...kept.found })
  const logged = 'found' in kept ? undefined : (await loggedChanges(server, summary, since)).diff(path)
  if (logged === undefined)
    throw new Problem(404, 'no_change', `This session did not change ${JSON.stringify(path.slice(0, 200))}`)
  return json({ path, diff: logged.slice(0, mostBytes), isCut: logged.length > mostBytes })
}

const mostBytes = 256 * 1024

/** What the snapshots of a session say, or why they say nothing. */
async function fromSnapshots<T>(
  { workspaces }: Call['server'],
  summary: SessionSummary,
  look: (snapshots: Snapshots, open: OpenWorkspace) => Promise<T>,
): Promise<{ readonly found: T } | { readonly why: string }> {
  try {
    return await workspaces.use(summary, async (open) => {
      if (!open.workspace.snapshots) return { why: 'no snapshots are taken here' }
      return { found: await look(open.workspace.snapshots, open) }
    })
  } catch (error) {
    if (error instanceof RollbackRefusedError) return { why: error.message }
    throw error
  }
}

const loggedChanges = ({ store }: Call['server'], { id }: SessionSummary, since: number): Promise<LoggedChanges> =>
  LoggedChanges.read(eachEntry(store, id, { after: since }))

async function withSnapshots(
  { params, names, server }: Call,
  work: (snapshots: Snapshots, open: OpenWorkspace) => Promise<Response>,
): Promise<Response> {
  const summary = await names.find(server.store, params.id!)
  refuseSubAgent(summary)
  return server.workspaces.use(summary, async (open) => {
    if (!open.workspace.snapshots) throw notOffered('snapshots')
    return work(open.workspace.snapshots, open)
  })
}

/** Without files, and with the reason, if nothing else was asked for and they were not kept. */
async function planned(
  snapshots: Snapshots,
  session: OpenWorkspace['session'],
  { to, what: scope, force: isForced = false }: RollbackRequest & { readonly to: number },
): Promise<SessionRollbackPlan & { readonly whyNoFiles?: string }> {
  try {
    return await checked(snapshots.planRollback(session, { to, scope: scope ?? 'both', force: isForced }))
  } catch (error) {
    if (scope !== undefined || !(error instanceof RollbackRefusedError) || error.code === 'at_work') throw error
    const plan = await snapshots.planRollback(session, { to, scope: 'conversation' })
    return { ...plan, whyNoFiles: error.message }
  }
}

/** What file tools wrote into the log about their changes, by path: for sessions without snapshots. */
class LoggedChanges {
  readonly #diffs = new Map<string, string[]>()

  static async read(entries: AsyncIterable<LogEntry>): Promise<LoggedChanges> {
    const changes = new LoggedChanges()
    for await (const entry of entries) {
      if (entry.type !== 'call_result' || entry.isError || !isRecord(entry.details)) continue
      const { diff } = entry.details
      const [, path] = (typeof diff === 'string' && /^\+\+\+ ([^\t\n]+)/m.exec(diff)) || []
      if (path === undefined) continue
      const known = changes.#diffs.get(path) ?? []
      changes.#diffs.set(path, [...known, diff as string])
    }
    return changes
  }

  get files(): readonly ChangedFile[] {
    const count = (text: string, sign: RegExp): number => text.match(sign)?.length ?? 0
    return [...this.#diffs].sort().map(([path, diffs]) => {
      const text = diffs.map(withoutHead).join('\n')
      return { path, kind: kindOf(diffs), added: count(text, /^\+/gm), removed: count(text, /^-/gm) }
    })
  }

  /** The changes of a file, one after the other. */
  diff(path: string): string | undefined {
    return this.#diffs.get(path)?.join('\n')
  }
}

const withoutHead = (diff: string): string => diff.slice(Math.max(0, diff.indexOf('\n@@') + 1))

/** The first change of a new file begins where nothing was. */
const kindOf = ([first = '']: readonly string[]): ChangedFile['kind'] =>
  /^@@ -0,0 /m.test(first) ? 'added' : 'changed'
