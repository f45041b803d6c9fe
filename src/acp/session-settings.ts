import type { ChatSettings, ModelChoice } from '../chat/chat.ts'
import { oneLine } from '../core/text.ts'
import { visibleName } from '../platform/visible-text.ts'
import { AcpError } from './acp-error.ts'
import type { SessionConfigOption, SessionModeState } from './protocol.ts'

/** What a person can choose in a session, as the client gets it: the modes alone for older clients, and all of it. */
export interface SettingsState {
  readonly modes: SessionModeState
  readonly configOptions: SessionConfigOption[]
}

/** The full list, which answers to every change repeat. */
export function settingsState(settings: ChatSettings, models: readonly ModelChoice[]): SettingsState {
  const { model, thinking = 'off', mode = 'ask' } = settings
  const currentModel = modelId(model)
  const known = models.some((one) => modelId(one) === currentModel) ? models : [model, ...models]
  return {
    modes: {
      currentModeId: mode,
      availableModes: modes.map(({ value: id, name, description }) => ({ id, name, description })),
    },
    configOptions: [
      select('mode', 'Mode', 'mode', { currentValue: mode, options: modes }),
      select('model', 'Model', 'model', {
        currentValue: currentModel,
        options: known.map((one) => ({ value: modelId(one), name: oneLine(visibleName(modelId(one)), 100) })),
      }),
      select('thinking', 'Thinking', 'thought_level', {
        currentValue: thinking,
        options: thinking === 'adaptive' ? [...levels, adaptive] : levels,
      }),
    ],
  }
}

/** The change of settings that a value of an option means. Throws if there is no such option or value. */
export function settingOf(
  configId: string,
  value: string,
  { settings, models }: { readonly settings: ChatSettings; readonly models: readonly ModelChoice[] },
): Partial<ChatSettings> {
  const { configOptions } = settingsState(settings, models)
  const option = configOptions.find(({ id }) => id === configId)
  const shown = (text: string): string => JSON.stringify(visibleName(text.slice(0, 100)))
  if (option?.type !== 'select')
    throw new AcpError(
      'invalid',
      `There is no option ${shown(configId)}; choose one of ${configOptions.map(({ id }) => id).join(', ')}`,
    )
  const values = option.options.flatMap((one) => ('value' in one ? [one.value] : []))
  if (!values.includes(value))
    throw new AcpError(
      'invalid',
      `The option ${configId} has no value ${shown(value)}; choose one of ${values.slice(0, 20).join(', ')}`,
    )
  if (configId === 'mode') return { mode: value as NonNullable<ChatSettings['mode']> }
  if (configId === 'thinking') return { thinking: value as NonNullable<ChatSettings['thinking']> }
  return { model: models.find((one) => modelId(one) === value) ?? settings.model }
}

const modelId = ({ provider, model }: ModelChoice): string => `${provider}/${model}`

type Select = Extract<SessionConfigOption, { type: 'select' }>

function select(
  id: string,
  name: string,
  category: string,
  value: { readonly currentValue: string; readonly options: readonly SelectOption[] },
): Select {
  return { id, name, category, type: 'select', ...value, options: [...value.options] }
}

interface SelectOption {
  readonly value: string
  readonly name: string
  readonly description?: string
}

const modes = [
  { value: 'ask', name: 'Ask', description: 'Asks before anything that could do harm' },
  { value: 'plan', name: 'Plan', description: 'Reads only, and changes nothing' },
  { value: 'allowlist', name: 'Allowlist', description: 'Does what rules allow, and asks before anything else' },
  { value: 'yolo', name: 'Yolo', description: 'Asks only before what your rules or protected files demand' },
] as const

const levels: readonly SelectOption[] = [
  { value: 'off', name: 'Off' },
  { value: 'minimal', name: 'Minimal' },
  { value: 'low', name: 'Low' },
  { value: 'medium', name: 'Medium' },
  { value: 'high', name: 'High' },
]
const adaptive: SelectOption = { value: 'adaptive', name: 'As the model decides' }
