import type { RemoteClient, RemoteMode, RemoteModel, RemoteSettingsChange } from '../libero.ts'
import { visibleName } from '../libero.ts'
import type { MenuItem } from '../parts/menu.tsx'

export type ChoiceKind = 'mode' | 'model' | 'thinking' | 'profile'

interface Choices {
  readonly settings: Awaited<ReturnType<RemoteClient['sessions']['settings']>>
  readonly client: RemoteClient
  readonly change: (changes: RemoteSettingsChange) => void
  /** This mode is chosen after a question. */
  readonly onYolo: () => void
}

/** What a menu above the conversation offers. */
export async function choiceItems(kind: ChoiceKind, choices: Choices): Promise<readonly MenuItem[]> {
  const { settings, client, change, onYolo } = choices
  const { now, chosen, profiles = [] } = settings
  switch (kind) {
    case 'mode':
      return modes.map(([mode, detail]) => ({
        ...{ label: mode, detail, isChosen: now.mode === mode, isBad: mode === 'yolo' },
        onChoose: () => (mode === 'yolo' ? onYolo() : change({ mode })),
      }))
    case 'model': {
      const models = await client.models().catch((): readonly RemoteModel[] => [])
      return models.slice(0, 300).map(({ id: model, provider }) => ({
        label: visibleName(model),
        detail: visibleName(provider),
        isChosen: now.model?.model === model && now.model.provider === provider,
        onChoose: () => change({ model: { provider, model } }),
      }))
    }
    case 'thinking':
      return thoughts.map((thinking) => ({
        label: thinking,
        isChosen: (now.thinking ?? 'off') === thinking,
        onChoose: () => change({ thinking }),
      }))
    case 'profile':
      return [undefined, ...profiles].map((profile) => ({
        label: profile === undefined ? 'as in the settings' : visibleName(profile),
        isChosen: chosen?.profile === profile,
        onChoose: () => change({ profile: profile ?? null }),
      }))
  }
}

const modes: readonly (readonly [RemoteMode, string])[] = [
  ['plan', 'reads and plans, changes nothing'],
  ['ask', 'asks before it changes something'],
  ['allowlist', 'runs what is on the list, asks for the rest'],
  ['yolo', 'runs everything without a question'],
]

const thoughts = ['off', 'minimal', 'low', 'medium', 'high', 'adaptive'] as const
