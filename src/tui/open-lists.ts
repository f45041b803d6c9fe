import type { ElsewhereAnswer, WaitingCall as ElsewhereCall } from '../chat/chat.ts'
import type { ApprovalExtent } from '../core/authority.ts'
import type { InteractionResponse } from '../core/interaction.ts'
import { isRecord } from '../core/is-record.ts'
import type { SessionStore } from '../core/store.ts'
import type { Row } from '../view/rows.ts'
import { emptyView, foldEntries } from '../view/session-view.ts'
import { entryView, inspectorView } from './viewers/inspector.ts'
import { sessionsView } from './viewers/sessions.ts'
import { runViewer } from './viewers/viewer.ts'
import { answerWaiting } from './viewers/waiting.ts'
import type { ScreenApp } from './views.ts'

/** Lets the person choose a session, and opens it. */
export async function openSessions(app: ScreenApp): Promise<void> {
  const { chat, paint } = app
  const session = chat.agent?.agent.session
  const store = session?.store
  const chosen = await app.view((viewer) =>
    runViewer(
      sessionsView({
        ...{ paint, folder: app.cwd, now: () => Date.now() },
        list: (query) => chat.sessions(query),
        ...(store && { lastRows: (id) => lastRows(store, id), delete: (id) => deleteSession(app, store, id) }),
        ...(session && {
          async rename(id, title) {
            if (id !== session.id) throw new Error('only the open session is renamed here; open this one first')
            await session.setDetails({ title })
          },
        }),
      }),
      viewer,
    ),
  )
  if (chosen && chosen.id !== chat.state.sessionId) await chat.open({ resume: chosen.id })
}

/** The last rows, from the last entries alone. */
export async function lastRows(store: SessionStore, id: string): Promise<readonly Row[]> {
  const entries = await store.read(id, { limit: 60, fromEnd: true })
  const head = (entries[0]?.seq ?? 1) - 1
  return foldEntries({ ...emptyView, head }, entries).rows.slice(-6)
}

async function deleteSession({ chat }: ScreenApp, store: SessionStore, id: string): Promise<void> {
  if (id === chat.state.sessionId) throw new Error('this session is open; open another one first')
  if ((await store.find(id))?.isHeld) throw new Error('another process works on this session; end that one first')
  await store.delete(id)
}

/** Shows the log of the open session, and single entries of it. */
export async function openInspector({ chat, paint, view: show }: ScreenApp, at: number | undefined): Promise<void> {
  const session = chat.agent?.agent.session
  const { store, id = '' } = session ?? {}
  if (!store) throw new Error('This conversation is not stored, so it has no log to show')
  await show(async (viewer) => {
    for (let from = at; ; ) {
      const place = from === undefined ? {} : { at: from }
      const view = inspectorView({ paint, read: (range) => store.read(id, range), title: `Log of ${id}`, ...place })
      const entry = await runViewer(view, viewer)
      if (!entry) return
      from = entry.seq
      await runViewer(entryView(entry, paint), viewer)
    }
  })
}

/** Shows what waits in other sessions, and answers it. */
export async function openWaiting(app: ScreenApp): Promise<void> {
  const { chat } = app
  const left = new Set<string>()
  chat.lookElsewhere()
  await answerWaiting({
    list: async () =>
      chat.state.waitingElsewhere.flatMap(({ title, folder, calls }) =>
        calls
          .filter((call) => !left.has(`${call.sessionId} ${call.callId}`))
          .map((call) => ({ sessionId: call.sessionId, title, call, ...(folder !== undefined && { folder }) })),
      ),
    async answer({ sessionId, call }, response) {
      await chat.answerElsewhere(sessionId, call.callId, elsewhereAnswer(call as ElsewhereCall, response))
      left.add(`${sessionId} ${call.callId}`)
    },
    show: (view) => app.view((viewer) => runViewer(view, viewer)),
    paint: app.paint,
    dialog: (use) => app.dialog((context) => use({ ...context, ignoreKeysMs: 300 })),
  })
}

/** What a dialog answered, as another session takes it. */
export function elsewhereAnswer(
  { callId, isQuestion }: Pick<ElsewhereCall, 'callId' | 'isQuestion'>,
  response: InteractionResponse,
): ElsewhereAnswer {
  if (response.status !== 'accepted') {
    const note = response.status === 'rejected' ? response.reason : ''
    if (isQuestion) return { text: note === '' ? 'no' : `no: ${note}` }
    return { decision: 'deny', ...(note !== '' && { note }) }
  }
  const { value } = response
  if (isQuestion) return { text: textOf(value) }
  const { calls, ...extent } = (isRecord(value) ? value : {}) as ApprovalExtent & { readonly calls?: unknown }
  const own = isRecord(calls) ? calls[callId] : 'allow'
  const isAllowed = own === 'allow' || (isRecord(own) && own.decision === 'allow')
  return isAllowed ? { decision: 'allow', ...extent } : { decision: 'deny' }
}

function textOf(value: unknown): string {
  if (value === true) return 'yes'
  if (Array.isArray(value)) return value.map(textOf).join(', ')
  if (!isRecord(value)) return String(value)
  if (typeof value.plan === 'string') return `yes, with changes. Carry out this version:\n\n${value.plan}`
  return typeof value.label === 'string' ? value.label : JSON.stringify(value)
}
