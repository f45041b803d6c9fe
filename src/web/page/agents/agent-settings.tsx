import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import {
  pluralize,
  type RemoteAgentChange,
  type RemoteAgentSettings,
  type RemotePluginSettings,
  visibleName,
} from '../libero.ts'
import { ProblemLine } from '../parts/problem-line.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAction } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'
import { ToolRuleFields } from './tool-rule-fields.tsx'

type PluginChange = NonNullable<RemoteAgentChange['plugins']>[number]

/** What a person may change about one agent, and about each of its tools. */
export function AgentSettings({ id }: { readonly id: string }) {
  const { client } = usePage()
  const answer = useAnswer(() => client.agents.settings(id), [id])
  return (
    <Shown answer={answer} what="settings of this agent">
      {(settings) => <Editor key={JSON.stringify(settings)} id={id} settings={settings} onSaved={answer.again} />}
    </Shown>
  )
}

const numbers = [
  ['maxIterations', 'Rounds of one task (0: any number)'],
  ['contextWindowSize', 'Context window, tokens'],
  ['toolResultDuration', 'Tool results are sent with so many model calls'],
] as const

interface EditorProps {
  readonly id: string
  readonly settings: RemoteAgentSettings
  readonly onSaved: () => void
}

function Editor({ id, settings, onSaved }: EditorProps) {
  const { client } = usePage()
  const [change, setChange] = useState<RemoteAgentChange>({})
  const { isBusy, problem, run } = useAction()
  const save = (event: SubmitEvent): void => {
    event.preventDefault()
    void run(async () => {
      await client.agents.update(id, change)
      onSaved()
    })
  }
  const setPlugin = (plugin: string, changes: Omit<PluginChange, 'id'>): void => {
    const { plugins = [] } = change
    const known = plugins.find((one) => one.id === plugin)
    const others = plugins.filter((one) => one.id !== plugin)
    setChange({ ...change, plugins: [...others, { ...known, id: plugin, ...changes }] })
  }
  return (
    <form class="agent-settings" onSubmit={save}>
      <div class="fields">
        <label class="field">
          <span>Name</span>
          <input
            defaultValue={settings.name ?? ''}
            onChange={({ currentTarget: { value } }) => setChange({ ...change, name: value === '' ? null : value })}
          />
        </label>
        {numbers.map(([name, words]) => (
          <label key={name} class="field">
            <span>{words}</span>
            <input
              type="number"
              min={0}
              defaultValue={settings[name] ?? ''}
              placeholder="as defined"
              onChange={({ currentTarget: { value } }) =>
                setChange({ ...change, [name]: value === '' ? null : Number(value) })
              }
            />
          </label>
        ))}
      </div>
      <h2>Tools</h2>
      {settings.plugins.map((plugin) => (
        <Plugin
          key={plugin.id}
          plugin={{ ...plugin, ...shownChange(change.plugins?.find((one) => one.id === plugin.id)) }}
          onChange={(changes) => setPlugin(plugin.id, changes)}
        />
      ))}
      <div class="row-buttons form-end">
        <button type="submit" class="primary" disabled={isBusy || Object.keys(change).length === 0}>
          Save
        </button>
        <span class="facts">Counts from the next message on.</span>
      </div>
      <ProblemLine problem={problem} />
    </form>
  )
}

interface PluginProps {
  readonly plugin: RemotePluginSettings
  readonly onChange: (changes: Omit<PluginChange, 'id'>) => void
}

function Plugin({ plugin, onChange }: PluginProps) {
  const { toolId, caption, enabled, isFixed = false, approval = {}, timeoutMs, tools } = plugin
  return (
    <details class="panel plugin">
      <summary>
        <strong>{visibleName(caption ?? toolId)}</strong>
        <span class="facts">{pluginFacts(plugin)}</span>
      </summary>
      {isFixed && <p class="facts">The definition forbids changes to this entry.</p>}
      <p class="facts">
        {tools.map(({ name, rule }) => `${visibleName(name)}${rule?.mode ? ` (${rule.mode})` : ''}`).join(', ')}
      </p>
      <div class="fields">
        <label class="check field-check">
          <input
            type="checkbox"
            checked={enabled}
            disabled={isFixed}
            onChange={(event) => onChange({ enabled: event.currentTarget.checked })}
          />
          Enabled
        </label>
        <label class="field">
          <span>Time limit of a call, seconds</span>
          <input
            type="number"
            min={0}
            disabled={isFixed}
            defaultValue={timeoutMs === undefined ? '' : timeoutMs / 1000}
            placeholder="as defined"
            onChange={({ currentTarget: { value } }) =>
              onChange({ timeoutMs: value === '' ? null : Number(value) * 1000 })
            }
          />
        </label>
      </div>
      <ToolRuleFields rule={approval} disabled={isFixed} onChange={(rule) => onChange({ approval: rule })} />
    </details>
  )
}

function pluginFacts({ enabled, approval, timeoutMs, isFixed, tools }: RemotePluginSettings): string {
  const facts = [
    enabled ? pluralize(tools.length, 'tool') : 'off',
    approval?.mode,
    timeoutMs !== undefined && `${timeoutMs / 1000} s`,
    isFixed && 'fixed',
  ]
  return facts.filter(Boolean).join(' · ')
}

/** What was changed and not saved yet, as it is shown; `null` means that the definition counts, which is not known here. */
function shownChange(change: PluginChange | undefined): Partial<RemotePluginSettings> {
  const { approval, enabled } = change ?? {}
  return { ...(approval && { approval }), ...(enabled !== undefined && enabled !== null && { enabled }) }
}
