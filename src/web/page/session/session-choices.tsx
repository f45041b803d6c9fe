import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { visibleName } from '../libero.ts'
import { useModel } from '../model/model.ts'
import type { Mode, SessionSettings } from '../model/session-api.ts'
import { Menu, type MenuItem } from '../parts/menu.tsx'
import { wordsOf } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'
import { useSessionScreen } from './session-context.ts'
import { YoloDialog } from './session-dialogs.tsx'

const modes: readonly (readonly [Mode, string])[] = [
  ['plan', 'reads and plans, changes nothing'],
  ['ask', 'asks before it changes something'],
  ['allowlist', 'runs what is on the list, asks for the rest'],
  ['yolo', 'runs everything without a question'],
]

const thoughts = ['off', 'minimal', 'low', 'medium', 'high', 'adaptive'] as const

/** The mode, always in sight, and the model with its thinking. A server that has no such choices shows none. */
export function SessionChoices() {
  const { client } = usePage()
  const { session, api, said } = useSessionScreen()
  const [isAsking, setAsking] = useState(false)
  const runs = useModel(session, ({ view }) => view.run?.id)
  const settings = useAnswer(() => api.settings(), [session.id, runs])
  const usedModel = useModel(session, ({ view }) => view.run?.model)
  const now = settings.value?.now
  if (!now && usedModel === undefined) return null
  const change = (changes: Readonly<Record<string, string | null>>): void =>
    void api
      .changeSettings(changes)
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
    const models = (await client.models().catch(() => [])) as readonly ModelFacts[]
    return models.slice(0, 200).map(({ id, provider, name }) => ({
      label: visibleName(name ?? id),
      ...(provider !== undefined && { detail: provider }),
      isChosen: now?.model === id && (provider === undefined || now?.provider === provider),
      onChoose: () => change({ model: id, ...(provider !== undefined && { provider }) }),
    }))
  }
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
          <Menu label={`Model: ${now.model ?? 'none'}`} class="quiet model-menu" items={modelItems}>
            <span class="one-line">{visibleName(now.model ?? 'no model')}</span> ▾
          </Menu>
          <Menu label={`Thinking: ${now.thinking ?? 'off'}`} class="quiet thinking-menu" items={thinkingItems}>
            {`~ ${thinkingWords(now)} ▾`}
          </Menu>
        </>
      ) : (
        <span class="facts model-menu">{visibleName(usedModel ?? '')}</span>
      )}
      {isAsking && <YoloDialog onClose={() => setAsking(false)} onSure={() => change({ mode: 'yolo' })} />}
    </>
  )
}

const thinkingWords = ({ thinking = 'off' }: SessionSettings['now']): string => thinking

interface ModelFacts {
  readonly id: string
  readonly provider?: string
  readonly name?: string
}
