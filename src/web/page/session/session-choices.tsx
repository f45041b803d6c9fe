import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { type RemoteMode, type RemoteModel, type RemoteSettingsChange, visibleName } from '../libero.ts'
import { useModel } from '../model/model.ts'
import { lazy } from '../parts/lazy.tsx'
import { Menu, type MenuItem } from '../parts/menu.tsx'
import { wordsOf } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'
import { useSessionScreen } from './session-context.ts'
import type { SessionDialogProps } from './session-dialogs.tsx'

const YoloDialog = lazy<SessionDialogProps & { readonly onSure: () => void }>(
  async () => (await import('./session-dialogs.tsx')).YoloDialog,
)

const modes: readonly (readonly [RemoteMode, string])[] = [
  ['plan', 'reads and plans, changes nothing'],
  ['ask', 'asks before it changes something'],
  ['allowlist', 'runs what is on the list, asks for the rest'],
  ['yolo', 'runs everything without a question'],
]

const thoughts = ['off', 'minimal', 'low', 'medium', 'high', 'adaptive'] as const

/** The mode, always in sight, the model with its thinking, and the profile. A server that has no such choices shows none. */
export function SessionChoices() {
  const { client, offers } = usePage()
  const { session, said } = useSessionScreen()
  const [isAsking, setAsking] = useState(false)
  const runs = useModel(session, ({ view }) => view.run?.id)
  const settings = useAnswer(
    async () => ((await offers('workspaces')) ? client.sessions.settings(session.id) : undefined),
    [session.id, runs],
  )
  const usedModel = useModel(session, ({ view }) => view.run?.model)
  const { now, chosen, profiles = [] } = settings.value ?? {}
  if (!now && usedModel === undefined) return null
  const change = (changes: RemoteSettingsChange): void =>
    void client.sessions
      .changeSettings(session.id, changes)
      .then(settings.again, (error: unknown) => said.set({ text: wordsOf(error), isBad: true }))
  const modeItems = (): readonly MenuItem[] =>
    modes.map(([mode, detail]) => ({
      label: mode,
      detail,
      isChosen: now?.mode === mode,
      isBad: mode === 'yolo',
      onChoose: () => (mode === 'yolo' ? setAsking(true) : change({ mode })),
    }))
  const modelItems = async (): Promise<readonly MenuItem[]> => {
    const models = await client.models().catch((): readonly RemoteModel[] => [])
    return models.slice(0, 300).map(({ id: model, provider }) => ({
      label: visibleName(model),
      detail: visibleName(provider),
      isChosen: now?.model?.model === model && now.model.provider === provider,
      onChoose: () => change({ model: { provider, model } }),
    }))
  }
  const profileItems = (): readonly MenuItem[] =>
    [undefined, ...profiles].map((profile) => ({
      label: profile === undefined ? 'as in the settings' : visibleName(profile),
      isChosen: chosen?.profile === profile,
      onChoose: () => change({ profile: profile ?? null }),
    }))
  const thinkingItems = (): readonly MenuItem[] =>
    thoughts.map((thinking) => ({
      label: thinking,
      isChosen: (now?.thinking ?? 'off') === thinking,
      onChoose: () => change({ thinking }),
    }))
  return (
    <>
      {now?.mode !== undefined && (
        <Menu label={`Mode: ${now.mode}`} class={`mode mode-${now.mode}`} items={modeItems}>
          {`${now.mode} ▾`}
        </Menu>
      )}
      {now ? (
        <>
          <Menu label={`Model: ${now.model?.model ?? 'none'}`} class="quiet model-menu" items={modelItems}>
            <span class="one-line">{visibleName(now.model?.model ?? 'no model')}</span> ▾
          </Menu>
          <Menu label={`Thinking: ${now.thinking ?? 'off'}`} class="quiet thinking-menu" items={thinkingItems}>
            {`~ ${now.thinking ?? 'off'} ▾`}
          </Menu>
          {profiles.length > 0 && (
            <Menu label={`Profile: ${now.profile ?? 'none'}`} class="quiet profile-menu" items={profileItems}>
              <span class="one-line">{visibleName(now.profile ?? 'no profile')}</span> ▾
            </Menu>
          )}
        </>
      ) : (
        <span class="facts model-menu">{visibleName(usedModel ?? '')}</span>
      )}
      {isAsking && <YoloDialog onClose={() => setAsking(false)} onSure={() => change({ mode: 'yolo' })} />}
    </>
  )
}
