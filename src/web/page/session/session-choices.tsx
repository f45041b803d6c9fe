import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { type RemoteSettingsChange, visibleName } from '../libero.ts'
import { useModel } from '../model/model.ts'
import { lazy } from '../parts/lazy.tsx'
import { Menu, type MenuItem } from '../parts/menu.tsx'
import { wordsOf } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'
import type { ChoiceKind } from './choice-items.ts'
import { useSessionScreen } from './session-context.ts'
import type { SessionDialogProps } from './session-dialogs.tsx'

const YoloDialog = lazy<SessionDialogProps & { readonly onSure: () => void }>(
  async () => (await import('./session-dialogs.tsx')).YoloDialog,
)

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
  const { now, profiles = [] } = settings.value ?? {}
  if (!now && usedModel === undefined) return null
  const change = (changes: RemoteSettingsChange): void =>
    void client.sessions
      .changeSettings(session.id, changes)
      .then(settings.again, (error: unknown) => said.set({ text: wordsOf(error), isBad: true }))
  const items = (kind: ChoiceKind) => async (): Promise<readonly MenuItem[]> =>
    (await import('./choice-items.ts')).choiceItems(kind, { settings: settings.value!, client, change, onYolo })
  const onYolo = (): void => setAsking(true)
  return (
    <>
      {now?.mode !== undefined && (
        <Menu label={`Mode: ${now.mode}`} class={`mode mode-${now.mode}`} items={items('mode')}>
          {`${now.mode} ▾`}
        </Menu>
      )}
      {now ? (
        <>
          <Menu label={`Model: ${now.model?.model ?? 'none'}`} class="quiet model-menu" items={items('model')}>
            <span class="one-line">{visibleName(now.model?.model ?? 'no model')}</span> ▾
          </Menu>
          <Menu label={`Thinking: ${now.thinking ?? 'off'}`} class="quiet thinking-menu" items={items('thinking')}>
            {`~ ${now.thinking ?? 'off'} ▾`}
          </Menu>
          {profiles.length > 0 && (
            <Menu label={`Profile: ${now.profile ?? 'none'}`} class="quiet profile-menu" items={items('profile')}>
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
