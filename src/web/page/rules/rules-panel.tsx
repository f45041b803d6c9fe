import { usePage } from '../frame/page-context.ts'
import { fullyVisible, type RemoteRules } from '../libero.ts'
import { Shown } from '../parts/shown.tsx'
import { useAnswer } from '../parts/use-answer.ts'

const lists: readonly (readonly [RemoteRules['rules'][number]['list'], string])[] = [
  ['deny', 'Denied'],
  ['ask', 'Asked about'],
  ['allow', 'Allowed'],
  ['allowlist', 'Allowed in mode allowlist'],
]

const layers: Readonly<Record<string, string>> = {
  bundled: 'of Libero',
  global: 'your settings',
  project: 'of the project',
  launch: 'of this start',
}

/** The rules in force, each with where it comes from. */
export function RulesPanel() {
  const { client } = usePage()
  const answer = useAnswer(() => client.rules(), [])
  return (
    <Shown answer={answer} what="rules">
      {({ mode, rules, tools, workspaceReads, sandbox, warnings }) => (
        <>
          <p>
            {`Mode ${mode}. `}
            {workspaceReads === 'allow'
              ? 'Reading in the workspace needs no approval. '
              : 'Reading in the workspace is asked about. '}
            {sandbox.profiles.length > 0
              ? `Sandbox by ${sandbox.by ?? 'the system'}: ${sandbox.profiles.join(', ')}.`
              : `No sandbox${sandbox.why === undefined ? '' : `: ${sandbox.why}`}.`}
          </p>
          {warnings.map((warning) => (
            <p key={warning} class="call-note">
              {fullyVisible(warning)}
            </p>
          ))}
          {rules.length === 0 && (
            <p class="facts">
              There are no rules of your own: the mode and what Libero knows of tools and commands decide.{' '}
              <code>libero policy</code> and the settings <code>allow</code>, <code>ask</code> and <code>deny</code> add
              some.
            </p>
          )}
          {lists.map(([list, words]) => {
            const some = rules.filter((one) => one.list === list)
            if (some.length === 0) return null
            return (
              <details key={list} open={some.length <= 12}>
                <summary>{`${words}: ${some.length}`}</summary>
                <ul class="rule-list">
                  {some.map(({ rule, layer, why }, i) => (
                    <li key={i}>
                      <code>{fullyVisible(rule)}</code>
                      <span class="tag">{layers[layer] ?? layer}</span>
                      {why !== undefined && <span class="facts">{fullyVisible(why)}</span>}
                    </li>
                  ))}
                </ul>
              </details>
            )
          })}
          {Object.keys(tools).length > 0 && (
            <>
              <h2>By tool</h2>
              <ul class="rule-list">
                {Object.entries(tools).map(([tool, rule]) => (
                  <li key={tool}>
                    <code>{fullyVisible(tool)}</code>
                    <span class="facts">{fullyVisible(JSON.stringify(rule))}</span>
                  </li>
                ))}
              </ul>
            </>
          )}
        </>
      )}
    </Shown>
  )
}
