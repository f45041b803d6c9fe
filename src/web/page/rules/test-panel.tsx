import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { fullyVisible, type RemotePolicyResults, type RemotePolicyTest, type RemoteRuleSettings } from '../libero.ts'
import { ProblemLine } from '../parts/problem-line.tsx'
import { useAction } from '../parts/use-action.ts'
import { VerdictTag } from '../parts/verdict.tsx'
import { readCases } from './policy-cases.ts'

/** Tests the rules in force, or others, with calls and what is expected of each. Nothing runs. */
export function TestPanel() {
  const { client } = usePage()
  const [outcome, setOutcome] = useState<RemotePolicyResults & Pick<RemotePolicyTest, 'cases'>>()
  const { isBusy, problem, run } = useAction()
  const test = (event: SubmitEvent): void => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    void run(async () => {
      setOutcome(undefined)
      const cases = readCases(String(form.get('cases')))
      const rules = String(form.get('rules')).trim()
      const given = rules === '' ? {} : { rules: JSON.parse(rules) as RemoteRuleSettings }
      setOutcome({ ...(await client.testPolicy({ cases, ...given })), cases })
    })
  }
  return (
    <>
      <form class="fields" onSubmit={test}>
        <label class="field wide">
          <span>
            Calls, one a line: what you expect (allow, ask, deny or nothing), then a shell line, or a tool with its
            input
          </span>
          <textarea
            name="cases"
            class="mono"
            rows={5}
            required
            spellcheck={false}
            defaultValue={'allow git status\nask npm publish\nask write_file {"path": ".git/config", "content": "x"}'}
          />
        </label>
        <label class="field wide">
          <span>Other rules than those in force, as JSON (optional)</span>
          <textarea
            name="rules"
            class="mono"
            rows={3}
            spellcheck={false}
            placeholder='{ "mode": "ask", "allow": ["shell(git status)"] }'
          />
        </label>
        <button type="submit" class="primary" disabled={isBusy}>
          Test
        </button>
      </form>
      <ProblemLine problem={problem} />
      <div aria-live="polite">
        {outcome && (
          <>
            <p>
              {outcome.failed === 0
                ? `✓ All ${outcome.passed} as expected`
                : `✗ ${outcome.failed} of ${outcome.passed + outcome.failed} are not as expected`}
            </p>
            <ul class="item-list">
              {outcome.results.map(({ verdict, why = '', rule, expect, passed, problem: wrong }, i) => (
                <li key={i}>
                  <div class="item-head">
                    <span
                      class={`mark ${passed ? 'mark-done' : 'mark-failed'}`}
                      role="img"
                      aria-label={passed ? 'as expected' : 'not as expected'}
                    >
                      {passed ? '✓' : '✗'}
                    </span>
                    <code>{caseWords(outcome.cases[i])}</code>
                    {verdict && <VerdictTag verdict={verdict} />}
                    {!passed && expect && <span class="facts">{`expected ${expect}`}</span>}
                  </div>
                  <p class="item-text">{fullyVisible(wrong ?? `${why}${rule ? ` (${rule})` : ''}`)}</p>
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
    </>
  )
}

function caseWords(one: RemotePolicyTest['cases'][number] | undefined): string {
  if (!one) return ''
  const { tool, input } = one
  return fullyVisible(tool === 'shell' ? String(input.command) : `${tool} ${JSON.stringify(input)}`)
}
