import { systemClock } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import { SessionChanges } from '../sessions/session-changes.ts'
import { type Caller, callerOf, checkAuth, Guesses, requireScope } from './caller.ts'
import { DraftChanges } from './draft-changes.ts'
import { checkHostGuard, corsHeaders, guardHost } from './host-guard.ts'
import { closingDown, Problem, problemOf } from './problem.ts'
import { limitsOf, RateLimits } from './rate-limits.ts'
import { readBody, readQuery } from './read-request.ts'
import type { Route } from './route.ts'
import { allRoutes } from './routes/all-routes.ts'
import type { ServerContext } from './server-context.ts'
import type { ServerDrafts, ServerOptions } from './server-options.ts'
import { skillsWanted } from './session-commands.ts'
import { SessionNames } from './session-names.ts'
import { ChosenSettings } from './session-settings.ts'
import { type ServedAgent, SessionWork } from './session-work.ts'
import { UsageBook } from './usage/usage-book.ts'
import { Webhooks } from './webhooks/webhooks.ts'
import { Workspaces } from './workspaces.ts'

/** Agents over HTTP: send, answer, stop, and follow by number. */
export interface LiberoServer {
  /** Answers a request. Never rejects. */
  fetch(request: Request): Promise<Response>
  /**
   * Continues the work of sessions that need attention, now and whenever some do, and delivers webhooks. Optional:
   * messages are worked on without it.
   */
  start(): Promise<void>
  /** Ends all streams and leaves all runs, which the next start continues. Does not close the store. */
  close(): Promise<void>
}

/** A server for sessions and their agents, as a function from `Request` to `Response` that any web framework can mount. */
export function createServer(options: ServerOptions): LiberoServer {
  const context = contextOf(options)
  const { work, closing } = context
  const guesses = new Guesses(context.clock.now, () => context.onError(new Error('A request came with a wrong token')))
  let app: Promise<App> | undefined

  async function answer(request: Request): Promise<Response> {
    try {
      const origin = guardHost(request, options)
      const answered = isPreflight(request, origin)
        ? new Response(null, { status: 204 })
        : await (await (app ??= buildApp(options.basePath ?? '', handle))).fetch(request)
      for (const [name, value] of Object.entries(origin === undefined ? {} : corsHeaders(origin)))
        answered.headers.set(name, value)
      return answered
    } catch (error) {
      return failed(error)
    }
  }

  async function handle(route: Route, request: Request, params: Readonly<Record<string, string>>): Promise<Response> {
    try {
      if (closing.signal.aborted) throw closingDown()
      const caller: Caller =
        route.scope === 'public' ? { user: 'anyone', scopes: [] } : await callerOf(request, options.auth, guesses)
      if (route.scope !== 'public') requireScope(caller, route.scope)
      const query = readQuery(new URL(request.url).searchParams, route.query)
      const body = route.body ? await readBody(request, route.body, context.limits.bodyBytes) : {}
      const names = new SessionNames(caller.tenant)
      const answered = await route.handle({ request, params, query, body, caller, names, server: context.server })
      return request.method === 'HEAD' ? await withoutBody(answered) : answered
    } catch (error) {
      return failed(error, route.refuse)
    }
  }

  function failed(error: unknown, refuse: Route['refuse'] = (problem) => problem.toResponse()): Response {
    const problem = problemOf(error)
    if (problem) return refuse(problem)
    context.onError(error instanceof Error ? error : new Error(messageOf(error)))
    return refuse(new Problem(500, 'internal', 'The server failed; its log says why'))
  }

  return {
    fetch: answer,
    start: async () => void (await Promise.all([work.start(), context.server.webhooks.start()])),
    async close() {
      closing.abort()
      for (const end of context.server.openStreams) end()
      await Promise.all([work.close(), context.server.webhooks.close(), context.server.workspaces.close()])
    },
  }
}

interface Context {
  readonly server: ServerContext
  readonly work: SessionWork
  readonly closing: AbortController
  readonly limits: ServerContext['limits']
  readonly clock: ServerContext['clock']
  readonly onError: (error: Error) => void
}

function contextOf(options: ServerOptions): Context {
  const { store, fleet, auth, clock = systemClock, trustsAllUsers = false } = options
  const agentFor = fleet ? noAgents : options.agentFor
  if (typeof store?.append !== 'function')
    throw new TypeError('createServer needs a store such as createSqliteStore({ path })')
  if (typeof agentFor !== 'function')
    throw new TypeError('createServer needs agentFor({ session }), which opens an agent, or a fleet, whose workers do')
  checkAuth(auth)
  checkHostGuard(options)
  const limits = limitsOf(options.limits, 'token' in auth)
  const closing = new AbortController()
  const changes = new SessionChanges(store, clock)
  const onError = options.onError ?? ((error) => console.error('libero server:', error.message))
  const settings = new ChosenSettings()
  const work = new SessionWork({
    ...{ store, limits, clock, onError, fleet },
    agentFor: async (request) => {
      const { session, summary } = request
      const skills = await skillsWanted(store, session)
      const served = await agentFor({ ...request, skills, settings: settings.of(session, summary) })
      if (request.tenant !== undefined && !trustsAllUsers) await refuseSharedMachine(served)
      return served
    },
    mayContinue: options.mayContinue ?? (() => true),
    onChange: () => changes.nudge(),
  })
  const byWorkers = fleet && { deliver: false }
  const server: ServerContext = {
    ...{ options, store, work, changes, limits, clock, settings },
    workspaces: new Workspaces({ store, settings, clock, open: options.workspaceFor }),
    webhooks: new Webhooks({ store, changes, clock, onError, options: { ...options.webhooks, ...byWorkers } }),
    usage: new UsageBook(store),
    routes: allRoutes,
    authorityFor: options.authorityFor ?? noAuthority,
    drafts: new DraftChanges(options.drafts ?? memoryDrafts(), clock),
    rates: new RateLimits(limits, clock.now),
    closing: closing.signal,
    openStreams: new Set(),
    startedAt: clock.now(),
  }
  return { server, work, closing, limits, clock, onError }
}

/** Commands of one tenant must not reach the files of another. */
async function refuseSharedMachine({ agent, close }: ServedAgent): Promise<void> {
  if (agent.execution?.type !== 'process') return
  await close()
  throw new Error(
    'agentFor gave a tenant an agent that runs commands on this machine itself; use libero/contexts/docker or bubblewrap, ' +
      'or set trustsAllUsers',
  )
}

function memoryDrafts(): ServerDrafts {
  const texts = new Map<string, string>()
  return {
    load: async (id) => texts.get(id) ?? '',
    async save(id, text) {
      if (text === '') texts.delete(id)
      else texts.set(id, text)
    },
  }
}

const noAgents = async (): Promise<never> => {
  throw new Problem(501, 'not_offered', 'This server runs no agents; the workers of its fleet do')
}

const noAuthority: ServerContext['authorityFor'] = async () => {
  throw new Problem(501, 'not_offered', 'This server cannot sign an allow: its host gave no authorityFor')
}

interface App {
  fetch(request: Request): Response | Promise<Response>
}

type Handle = (route: Route, request: Request, params: Readonly<Record<string, string>>) => Promise<Response>

/** The router is loaded with the first request. */
async function buildApp(basePath: string, handle: Handle): Promise<App> {
  const { Hono } = await import('hono').catch((cause) => {
    throw new Error('libero/server needs the package hono; install it with: npm install hono', { cause })
  })
  const app = new Hono().basePath(basePath)
  const methods = new Map<string, string[]>()
  for (const route of allRoutes) {
    const path = route.path.replace(/\{(\w+)\}/g, ':$1')
    methods.set(path, [...(methods.get(path) ?? []), route.method])
    app.on(route.method, path, (context) => handle(route, context.req.raw, context.req.param()))
  }
  for (const [path, allowed] of methods) app.all(path, () => wrongMethod(allowed))
  app.notFound(() =>
    new Problem(404, 'no_route', 'There is no such route; GET /v1/openapi.json lists all').toResponse(),
  )
  return app
}

/** The router would drop the body without ending a stream in it. */
async function withoutBody({ status, headers, body }: Response): Promise<Response> {
  await body?.cancel()
  return new Response(null, { status, headers })
}

const wrongMethod = (allowed: readonly string[]): Response =>
  new Problem(405, 'no_method', `Only ${allowed.join(', ')} are allowed here`, {
    headers: { allow: allowed.join(', ') },
  }).toResponse()

const isPreflight = ({ method, headers }: Request, origin: string | undefined): boolean =>
  method === 'OPTIONS' && origin !== undefined && headers.has('access-control-request-method')
