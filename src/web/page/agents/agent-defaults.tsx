import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { type RemoteAgentDefaults, type RemoteToolRule, visibleName } from '../libero.ts'
import { ProblemLine } from '../parts/problem-line.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAction } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'
import { ToolRuleFields } from './tool-rule-fields.tsx'

/** What counts for all agents: the rule of each tool, and how failed requests to models are sent again. */
export function AgentDefaults() {
  const { client } = usePage()
  const answer = useAnswer(() => client.agents.defaults(), [])
  return (
    <Shown answer={answer} what="settings of agents">
      {(defaults) => <Editor key={JSON.stringify(defaults)} defaults={defaults} onSaved={answer.again} />}
    </Shown>
  )
}

const retryFields = [
  ['maxAttempts', 'Attempts', 1],
  ['initialDelayMs', 'First pause, seconds', 1000],
  ['maxDelayMs', 'Longest pause, seconds', 1000],
  ['backoffMultiplier', 'Each pause is longer, times', 1],
  ['maxTotalMs', 'In all at most, seconds', 1000],
] as const

function Editor({ defaults, onSaved }: { readonly defaults: RemoteAgentDefaults; readonly onSaved: () => void }) {
  const { client } = usePage()
  const [approval, setApproval] = useState(defaults.approval)
  const [retry, setRetry] = useState<Readonly<Record<string, unknown>>>(defaults.retry ?? {})
  const { isBusy, problem, run } = useAction()
  const [said, setSaid] = useState('')
  const save = (event: SubmitEvent): void => {
    event.preventDefault()
    void run(async () => {
      await client.agents.changeDefaults({ approval, ...(Object.keys(retry).length > 0 && { retry }) })
      setSaid('Saved. Counts from the next call on.')
      onSaved()
    })
  }
  const add = (event: SubmitEvent): void => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const name = String(new FormData(form).get('tool')).trim()
    if (name !== '') setApproval({ ...approval, [name]: approval[name] ?? { mode: 'confirm' } })
    form.reset()
  }
  const set = (tool: string, rule: RemoteToolRule): void => setApproval({ ...approval, [tool]: rule })
  const remove = (tool: string): void =>
    setApproval(Object.fromEntries(Object.entries(approval).filter(([name]) => name !== tool)))
  const setField = (name: string, text: string, unit: number): void => {
    const { [name]: _, ...others } = retry
    setRetry(text === '' ? others : { ...others, [name]: Number(text) * unit })
  }
  return (
    <>
      <h3>Approval by tool</h3>
      {Object.entries(approval).map(([tool, rule]) => (
        <div key={tool} class="panel">
          <div class="item-head">
            <strong>{visibleName(tool)}</strong>
            <span class="row-buttons">
              <button type="button" onClick={() => remove(tool)}>
                Remove
              </button>
            </span>
          </div>
          <ToolRuleFields rule={rule} onChange={(next) => set(tool, next)} />
        </div>
      ))}
      <form class="row-buttons" onSubmit={add}>
        <input name="tool" placeholder="name of a tool" aria-label="Name of a tool" class="mono" />
        <button type="submit">Add a rule</button>
      </form>
      <form onSubmit={save}>
        <h3>Failed requests to a model</h3>
        <div class="fields">
          {retryFields.map(([name, words, unit]) => (
            <label key={name} class="field">
              <span>{words}</span>
              <input
                type="number"
                min={0}
                step="any"
                placeholder="as the provider decides"
                value={typeof retry[name] === 'number' ? retry[name] / unit : ''}
                onChange={(event) => setField(name, event.currentTarget.value, unit)}
              />
            </label>
          ))}
        </div>
        <div class="row-buttons form-end">
          <button type="submit" class="primary" disabled={isBusy}>
            Save for all agents
          </button>
          <span class="facts" role="status">
            {said}
          </span>
        </div>
        <ProblemLine problem={problem} />
      </form>
    </>
  )
}
