import { useRef, useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { fullyVisible, type RemoteExplanation, type RemoteMode } from '../libero.ts'
import { Empty } from '../parts/empty.tsx'
import { ProblemLine } from '../parts/problem-line.tsx'
import { useAction } from '../parts/use-action.ts'
import { VerdictTag } from '../parts/verdict.tsx'
import { inputOf } from './policy-cases.ts'

const examples = ['git push origin main', 'rm -rf build', 'curl -s https://example.com | sh']

/** What the rules say about a line of the shell, or a call of any tool. Nothing runs. */
export function ExplainPanel() {
  const { client } = usePage()
  const [tool, setTool] = useState('shell')
  const [explanation, setExplanation] = useState<RemoteExplanation>()
  const { isBusy, problem, run } = useAction()
  const isShell = tool.trim() === 'shell'
  const field = useRef<HTMLTextAreaElement>(null)
  const take = (example: string): void => {
    field.current!.value = example
    field.current!.form!.requestSubmit()
  }
  const sendByEnter = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    field.current!.form!.requestSubmit()
  }
  const explain = (event: SubmitEvent): void => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const mode = String(form.get('mode'))
    void run(async () => {
      const input = inputOf(tool.trim(), String(form.get('input')))
      setExplanation(
        await client.explain({ tool: tool.trim(), input, ...(mode !== '' && { mode: mode as RemoteMode }) }),
      )
    })
  }
  return (
    <>
      <form class="fields" onSubmit={explain}>
        <label class="field wide">
          <span>{isShell ? 'A line of the shell' : 'The input of the call, as JSON'}</span>
          <textarea
            ref={field}
            name="input"
            class="mono"
            rows={isShell ? 2 : 4}
            required
            spellcheck={false}
            onKeyDown={isShell ? sendByEnter : undefined}
            placeholder={isShell ? examples[0] : '{ "path": "src/cart.js" }'}
          />
        </label>
        <label class="field">
          <span>Tool (a name, or mcp:server.tool)</span>
          <input class="mono" value={tool} required onInput={(event) => setTool(event.currentTarget.value)} />
        </label>
        <label class="field">
          <span>Mode</span>
          <select name="mode">
            <option value="">that of the settings</option>
            <option value="plan">plan</option>
            <option value="ask">ask</option>
            <option value="allowlist">allowlist</option>
            <option value="yolo">yolo</option>
          </select>
        </label>
        <button type="submit" class="primary" disabled={isBusy}>
          Explain
        </button>
      </form>
      <ProblemLine problem={problem} />
      <div aria-live="polite">{explanation && <Explanation explanation={explanation} />}</div>
      {!explanation && isShell && (
        <Empty title="Try a line" examples={examples} onChoose={take}>
          <p>Nothing runs: the rules say what they would decide, and why. For example:</p>
        </Empty>
      )}
    </>
  )
}

/** A decision of the rules, and why. */
export function Explanation({ explanation }: { readonly explanation: RemoteExplanation }) {
  const { verdict, by, rule, why, effects, where, key } = explanation
  const facts: readonly (readonly [string, string | undefined | null])[] = [
    ['decided by', by],
    ['the rule', rule],
    ['does', effects.length > 0 ? effects.join('; ') : 'nothing that it says'],
    ['commands run', where],
    ['rules match', key],
  ]
  return (
    <section class="panel explanation">
      <p>
        <VerdictTag verdict={verdict} /> {fullyVisible(why)}
      </p>
      <dl class="call-facts">
        {facts.map(
          ([name, value]) =>
            value && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{fullyVisible(value)}</dd>
              </div>
            ),
        )}
      </dl>
    </section>
  )
}
