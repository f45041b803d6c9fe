import { loadSession } from '../../sessions/session.ts'
import { hasScope, requireScope } from '../caller.ts'
import { notOffered, Problem, refuseSubAgent } from '../problem.ts'
import { type Call, json, type Route } from '../route.ts'
import { whenFree } from '../send-once.ts'
import { type SettingsChange, settingSchemas } from '../session-settings.ts'
import type { SessionWorkspace } from '../session-workspace.ts'

const { model: _, ...others } = settingSchemas

const settingsAnswer = {
  description: 'What was chosen, and what a run uses now',
  schema: {
    type: 'object',
    required: ['chosen', 'now', 'profiles'],
    properties: {
      chosen: { type: 'object', properties: settingSchemas },
      now: {
        type: 'object',
        properties: {
          ...others,
          model: {
            type: 'object',
            required: ['provider', 'model'],
            properties: { provider: { type: 'string' }, model: { type: 'string' }, contextWindow: { type: 'integer' } },
          },
          folder: { type: 'string' },
        },
      },
      profiles: { type: 'array', items: { type: 'string' } },
    },
  },
  example: {
    chosen: { mode: 'plan' },
    now: { model: { provider: 'anthropic', model: 'claude-sonnet' }, mode: 'plan', profile: 'build', folder: '/work' },
    profiles: ['build', 'plan'],
  },
}

/** The settings of one session: model, thinking, mode, profile. */
export const sessionSettingsRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/sessions/{id}/settings',
    scope: 'read',
    summary: 'The model, thinking, mode and profile of a session: what was chosen, and what a run uses now',
    answers: { 200: settingsAnswer },
    handle: showSettings,
  },
  {
    method: 'PATCH',
    path: '/v1/sessions/{id}/settings',
    scope: 'send',
    summary:
      'Chooses them: from the next run on, the mode from the next call on. `null` takes a choice back. The mode and the profile need the scope answer; yolo needs admin, and lasts as long as the server',
    body: {
      type: 'object',
      additionalProperties: false,
      minProperties: 1,
      properties: Object.fromEntries(
        Object.entries(settingSchemas).map(([name, schema]) => [name, { anyOf: [schema, { type: 'null' }] }]),
      ),
    },
    answers: {
      200: {
        ...settingsAnswer,
        description: 'The same as GET gives; empty without the scope "read"',
        schema: { ...settingsAnswer.schema, required: [] },
      },
      422: { description: 'There is no such model or profile here; nothing is changed' },
      423: { description: 'Another program runs the session, with its own settings' },
    },
    async handle(call) {
      await changeSettings(call, call.body as SettingsChange)
      return hasScope(call.caller, 'read') ? showSettings(call) : json({})
    },
  },
]

async function showSettings({ params, names, server }: Call): Promise<Response> {
  const { store, settings, work, workspaces } = server
  const summary = await names.find(store, params.id!)
  return workspaces.use(summary, async ({ workspace, session }) => {
    if (!workspace.settings) throw notOffered('settings of sessions')
    const now = await workspace.settings(session)
    const live = (await work.served(summary.id))?.authority?.mode
    return json({
      chosen: settings.of(session, summary),
      now: { ...now, ...(live !== undefined && { mode: live }) },
      profiles: workspace.profiles ?? [],
    })
  })
}

/** Keeps a choice, and tells the run under way here. */
export async function changeSettings(
  { params, caller, names, server }: Pick<Call, 'params' | 'caller' | 'names' | 'server'>,
  change: SettingsChange,
): Promise<void> {
  const { store, work, settings, workspaces } = server
  const { mode, profile } = change
  // A profile has a mode too.
  if (mode !== undefined || profile !== undefined) requireScope(caller, mode === 'yolo' ? 'admin' : 'answer')
  const summary = await names.find(store, params.id!)
  const { id } = summary
  refuseSubAgent(summary)
  await workspaces.use(summary, async ({ workspace }) => {
    if (!workspace.settings) throw notOffered('settings of sessions')
    refuseProfile(change, workspace)
  })
  // The host refuses a model that it does not have, before every run and every request would fail for it.
  if (change.model)
    await workspaces.use(summary, async (open) => void (await open.workspace.settings?.(open.session)), change)
  await whenFree(server, id, async () =>
    settings.change(work.session(id) ?? (await loadSession(store, id)), summary, change),
  )
  if (mode === undefined) return
  const { authority } = (await work.served(id)) ?? {}
  if (!authority) return
  // A choice that was taken back leads to the mode that the host has for the session.
  const wanted =
    mode ?? (await workspaces.use(summary, async ({ workspace, session }) => workspace.settings?.(session)))?.mode
  if (wanted === undefined) return
  const about = { by: caller.user, sessionId: id, ...(wanted === 'yolo' && { allowYolo: true as const }) }
  await authority.setMode(wanted, about)
}

function refuseProfile({ profile }: SettingsChange, { profiles }: SessionWorkspace): void {
  if (typeof profile !== 'string' || !profiles || profiles.includes(profile)) return
  const named = JSON.stringify(profile.slice(0, 60))
  throw new Problem(422, 'no_profile', `There is no profile ${named} here; choose one of ${profiles.join(', ')}`)
}
