import { AgentAbortedError, messageOf } from '../core/errors.ts'
import { emptyView, type SessionView } from '../view/session-view.ts'
import { attachedState, attachToChat, isAtWork, untilFree } from './attach-to-chat.ts'
import type { AttachedSession } from './attached-session.ts'
import type {
  AgentRequest,
  Chat,
  ChatHost,
  ChatSettings,
  ChatState,
  OpenRequest,
  OutgoingMessage,
  QueuedDraft,
} from './chat.ts'
import { needsAgent, withChosen, withoutAgent } from './chat-settings.ts'
import { createChatState } from './chat-state.ts'
import { forecastCost } from './forecast.ts'
import { createLiveSession, type LiveSession, type RunEnd, setModeOf } from './live-session.ts'
import { keptDrafts, MessageQueue, memoryDrafts } from './message-queue.ts'
import { createPrompts } from './open-prompts.ts'
import { createWaitingElsewhere } from './waiting-elsewhere.ts'

/** Creates a chat. Nothing is opened before `open()`. */
export function createChat(host: ChatHost): Chat {
  const cell = createChatState()
  const { change, notify } = cell
  const drafts = host.drafts ?? memoryDrafts()
  let session: LiveSession | undefined
  /** Instead of `session`, if another process runs it. */
  let attached: AttachedSession | undefined
  let queue = newQueue()
  /** What the person has changed. */
  let chosen: Partial<ChatSettings> = {}
  /** The settings need another agent, which is opened when the run has ended. */
  let isOutdated = false
  /** Opens and closes one after the other. */
  let opening: Promise<unknown> = Promise.resolve()
  let isClosed = false
  /** Stops the work of a command. */
  let work: AbortController | undefined
  /** Messages for which a run was begun because the one that they were sent to had ended. */
  const late = new Set<string>()
  const leavePlan = async () => cell.now.settings.mode === 'plan' && switchMode('ask').catch(fail)
  const interactor = createPrompts((prompts) => change({ prompts }), leavePlan)
  const elsewhere = createWaitingElsewhere({
    ...host,
    ownId: () => session?.id, // the questions of an attached session are asked elsewhere too
    onChange: (waitingElsewhere) => change({ waitingElsewhere }),
  })

  function newQueue(items: readonly QueuedDraft[] = []): MessageQueue {
    const made = new MessageQueue(drafts, { items, onChange: () => made === queue && change({ queue: made.items }) })
    return made
  }

  const inOrder = <T>(work: () => Promise<T>): Promise<T> => {
    const done = opening.then(work)
    opening = done.catch(() => {})
    return done
  }

  async function openAgent(request: Omit<AgentRequest, 'interactor' | 'notify'>, from?: SessionView) {
    const agent = await host.openAgent({ ...request, interactor, notify })
    try {
      if (isClosed) throw closedError()
      return await createLiveSession(agent, from)
    } catch (error) {
      await agent.close()
      throw error
    }
  }

  /** Shows a session that was opened. */
  function enter(live: LiveSession, next: MessageQueue): void {
    session = live
    queue = next
    queue.sessionId = live.id
    const { authority, settings, warning, notices = [] } = live.agent
    change({
      phase: 'idle',
      view: live.view,
      sessionId: live.id,
      settings: { ...withChosen(settings, chosen), ...(authority && { mode: authority.mode }) },
      queue: queue.items,
      warning,
      isAttached: undefined,
      earlierTurns: (live.earlierTurns ?? cell.now.earlierTurns) || undefined,
      isResumable: live.hasWork() || undefined,
    })
    void showForecast()
    for (const text of notices)
      if (!cell.now.notices.some((notice) => notice.text === text)) notify({ kind: 'info', text })
    live.follow((view) => live === session && cell.show(view))
  }

  async function open(request: OpenRequest): Promise<void> {
    const before = queue
    queue = newQueue()
    change({ phase: 'opening', queue: [] })
    try {
      // A session that is resumed has a model of its own.
      const { model, ...others } = chosen
      const settings = request.resume === undefined ? chosen : others
      if (request.attach !== undefined) return await attach(request.attach)
      const live = await openAgent({ ...request, settings })
      // A session that is not stored ends here; what was queued in it goes on.
      const kept = [...(await keptDrafts(drafts, live)), ...(before.sessionId === undefined ? before.unsent : [])]
      await closeSession()
      const typed = queue.unsent
      chosen = settings
      enter(live, newQueue(kept))
      queue.isHeld = kept.length > 0
      for (const draft of typed) await queue.add(draft, 'urgent')
    } catch (error) {
      const typed = queue.unsent
      queue = before
      for (const draft of typed) await queue.add(draft, 'urgent')
      const isRunning = attached ? isAtWork(attached) : session?.agent.agent.isRunning
      if (!isClosed) change({ phase: isRunning ? 'running' : 'idle', queue: queue.items })
      if (!isRunning) sendNext()
      fail(error)
      throw error
    }
    sendNext()
    elsewhere.look()
  }

  async function attach(id: string): Promise<void> {
    const next = await attachToChat(host, id, { cell, isCurrent: (one) => one === attached && !isClosed })
    await closeSession()
    attached = next
    const typed = queue.unsent // meanwhile
    queue = newQueue()
    change({ ...attachedState(next), queue: [] })
    void sendTyped(typed)
    elsewhere.look()
  }

  async function sendTyped(typed: readonly QueuedDraft[]): Promise<void> {
    for (const draft of typed) await send(draft).catch(() => queue.add(draft, 'last')) // its sender has the reason already
  }

  async function closeSession(): Promise<void> {
    await Promise.all([session?.close(), attached?.close()])
    session = attached = undefined
  }

  /** No process works on it. */
  const openHere = ({ id }: AttachedSession) => untilFree(host, id).then(() => inOrder(() => open({ resume: id })))

  /** Opens another agent on the same session, for settings that this one cannot have. */
  async function reopen(): Promise<void> {
    if (!session || !isOutdated || cell.now.phase !== 'idle') return // a run that has begun meanwhile is waited for
    isOutdated = false
    const old = session
    const { log, session: stored } = old.agent.agent
    change({ phase: 'opening' })
    try {
      if (stored?.store && log.head === 0) await stored.save() // so that it stays the same session
      if (!stored?.store && log.head > 0)
        throw new Error('This conversation is not stored, so it cannot go on with another provider or profile')
      const request = stored?.store ? { resume: stored.id, settings: chosen } : { settings: chosen }
      const live = await openAgent(request, cell.now.view)
      await old.close()
      enter(live, queue)
    } catch (error) {
      if (isClosed) return
      const { settings } = old.agent
      chosen = withoutAgent(chosen)
      change({ phase: 'idle', settings: withChosen(settings, chosen) })
      queue.hold()
      fail(error)
      throw error
    }
    sendNext()
  }

  async function switchMode(mode: NonNullable<ChatSettings['mode']>): Promise<void> {
    await setModeOf(session, mode)
    chosen = { ...chosen, mode }
    change({ settings: withChosen(cell.now.settings, { mode }) })
  }

  const fail = (error: unknown): void => {
    if (!isClosed && !(error instanceof AgentAbortedError)) notify({ kind: 'failure', text: messageOf(error) })
  }

  /** Begins a run; resolves once the message is stored. */
  function start(message?: QueuedDraft): Promise<void> {
    const live = session!
    change({ phase: 'running', isResumable: undefined })
    const { stored, ended } = live.run(cell.now.settings, message)
    // The caller gets the reason why a message was not stored.
    void ended.then((end) => stored.then(() => over(live, end)).catch(() => over(live, { how: end.how })))
    return stored
  }

  function over(live: LiveSession, { how, problem }: RunEnd): void {
    if (live !== session || isClosed) return
    if (problem !== undefined) notify({ kind: 'failure', text: problem })
    if (how !== 'done') queue.hold()
    if (cell.now.phase === 'opening') return
    const waiting = how === 'done' ? live.undelivered().find((id) => !late.has(id)) : undefined
    if (waiting !== undefined) {
      late.add(waiting)
      void start().catch(() => {})
      return
    }
    if (isOutdated) void inOrder(reopen).catch(() => {})
    else if (sendNext()) return
    change({ phase: 'idle', isResumable: (how !== 'done' && live.hasWork()) || undefined })
    elsewhere.look()
    void showForecast()
  }

  const forecast = (draft?: string): Promise<ChatState['forecast']> => forecastCost(session?.agent, cell.now, draft)

  async function showForecast(): Promise<void> {
    const live = session
    const found = await forecast().catch(() => undefined) // a screen can do without
    if (live === session && !isClosed) change({ forecast: found })
  }

  /** Sends the first message of the queue, if there is one and it need not wait. For when no run is under way. */
  function sendNext(): boolean {
    if (!session || isClosed || queue.isHeld || queue.items.length === 0) return false
    change({ phase: 'running' })
    const from = queue
    start(from.next()!)
      .then(
        () => from.sent(),
        (error: unknown) => from.notSent().then(() => fail(error)),
      )
      .catch(fail)
    return true
  }

  async function steer(live: LiveSession, message: QueuedDraft): Promise<void> {
    await live.steer(message)
    // The run may have ended by itself while the message was stored.
    const isLate = live === session && cell.now.phase === 'idle' && !cell.now.isResumable && !live.hasDelivered(message)
    if (isLate) void start().catch(() => {})
  }

  /** Resolves once the message is kept, for a session that the store has: one that it has not could not be opened again. */
  async function enqueue(draft: QueuedDraft, order: 'last' | 'urgent'): Promise<void> {
    const { session: stored } = session?.agent.agent ?? {}
    const isOwn = stored !== undefined && queue.sessionId === stored.id
    const adding = queue.add(draft, order)
    if (isOwn) await Promise.all([adding, stored.log.head === 0 && stored.save()])
    else await Promise.all([adding, opening]) // until the session that it is for is open
    if (!isOwn && isClosed) throw closedError()
  }

  async function send(message: OutgoingMessage, delivery: 'steer' | 'queue' = 'steer'): Promise<void> {
    if (isClosed) throw closedError()
    const draft = { ...message, id: crypto.randomUUID() }
    const { phase } = cell.now
    if (attached && phase !== 'opening') {
      if (phase !== 'idle') return attached.send(draft, delivery === 'queue' ? 'followUp' : 'steer')
      await openHere(attached)
      return send(message, delivery)
    }
    if (phase === 'running' && delivery === 'queue') return enqueue(draft, 'last')
    if (phase === 'running' && !work) return steer(session!, draft)
    if (phase !== 'idle') return enqueue(draft, 'urgent')
    if (!session) throw new Error('No session is open; call open() first')
    queue.isHeld = false
    return start(draft)
  }

  return {
    get state() {
      return cell.now
    },
    get agent() {
      return session?.agent
    },
    subscribe: cell.subscribe,
    open: async (request) => {
      if (isClosed) throw closedError()
      return inOrder(() => open(request))
    },
    send,
    takeBack: (id) => {
      const draft = queue.takeBack(id)
      if (!draft) return undefined
      const { id: _, ...message } = draft
      return message
    },
    async resume() {
      if (attached && cell.now.phase === 'idle') await openHere(attached)
      if (!session || cell.now.phase !== 'idle') return
      queue.isHeld = false
      if (session.hasWork()) void start().catch(() => {})
      else sendNext()
    },
    stop() {
      if (cell.now.phase !== 'running') return
      change({ phase: 'stopping' })
      attached?.stop().catch(fail)
      work?.abort()
      session?.agent.agent.abort()
    },
    async set(settings) {
      if (isClosed) throw closedError()
      await opening
      if (attached && cell.now.phase === 'idle') await openHere(attached)
      if (attached) throw new Error('This session runs in another process, which has its own settings')
      const { mode, ...others } = settings
      if (mode !== undefined && mode !== cell.now.settings.mode) await switchMode(mode)
      const now = cell.now.settings
      chosen = { ...chosen, ...others }
      isOutdated ||= needsAgent(now, others)
      change({ settings: withChosen(now, others) })
      if (isOutdated && cell.now.phase === 'idle') await inOrder(reopen)
    },
    sessions: async (query) => (await host.store?.list(query)) ?? { sessions: [] },
    forecast,
    models: async () => (await host.models?.()) ?? [],
    profiles: host.profiles ?? [],
    async withAgent(doWork) {
      const live = session
      if (!live || cell.now.phase !== 'idle') throw new Error('The agent is at work; wait for it, or stop it first')
      const own = (work = new AbortController())
      change({ phase: 'running' })
      try {
        return await doWork(live.agent, own.signal)
      } finally {
        work = undefined
        over(live, { how: own.signal.aborted ? 'stopped' : 'done' })
      }
    },
    readAll: async () => (attached ?? session)?.readAll() ?? emptyView,
    lookElsewhere: () => elsewhere.look(),
    async answerElsewhere(sessionId, callId, answer) {
      const authority = session?.agent.authority ?? (await host.authority?.())
      await elsewhere.answer(authority, { sessionId, callId, answer })
    },
    async close() {
      if (isClosed) return opening.then(() => {})
      isClosed = true
      change({ phase: 'closed' })
      elsewhere.close()
      await inOrder(closeSession)
    },
  }
}

const closedError = (): Error => new Error('This chat is closed; create another one')
