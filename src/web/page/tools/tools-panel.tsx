import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { formatDuration, fullyVisible, type RemoteTool, visibleName, visibleText } from '../libero.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAnswer } from '../parts/use-answer.ts'

/** The tools that agents have, with what each says of itself and where it comes from. */
export function ToolsPanel() {
  const { client } = usePage()
  const answer = useAnswer(() => client.tools(), [])
  const [text, setText] = useState('')
  const matches = ({ name, description = '' }: RemoteTool): boolean =>
    `${name} ${description}`.toLowerCase().includes(text)
  return (
    <Shown answer={answer} what="tools">
      {(tools) => (
        <>
          <SearchBox what={`${tools.length} tools`} onText={setText} />
          <ul class="item-list">
            {tools.filter(matches).map((tool) => (
              <Tool key={`${tool.layer} ${tool.name}`} tool={tool} />
            ))}
          </ul>
        </>
      )}
    </Shown>
  )
}

function Tool({ tool }: { readonly tool: RemoteTool }) {
  const {
    name,
    layer,
    state,
    description,
    inputSchema,
    effects,
    path,
    shadows = [],
    diagnostic,
    timeoutMs,
    replay,
  } = tool
  const facts = [
    effects && `does ${effects.join(', ') || 'nothing that it says'}`,
    timeoutMs !== undefined && `at most ${formatDuration(timeoutMs)}`,
    replay && replayWords[replay],
    path && visibleName(path),
    shadows.length > 0 && `in place of ${shadows.map(visibleName).join(', ')}`,
  ]
  return (
    <li>
      <div class="item-head">
        <strong>
          <code>{visibleName(name)}</code>
        </strong>
        <span class="tag">{visibleName(layer)}</span>
        {state !== 'active' && (
          <span class="tag" data-kind="waits">
            {visibleName(state)}
          </span>
        )}
      </div>
      {diagnostic !== undefined && <p class="problem-line">{fullyVisible(diagnostic)}</p>}
      {description !== undefined && <p class="item-text lines">{visibleText(description)}</p>}
      <p class="item-text">{facts.filter(Boolean).join(' · ')}</p>
      {inputSchema && (
        <details>
          <summary class="facts">Input</summary>
          <CodeBlock code={JSON.stringify(inputSchema, null, 2)} language="json" />
        </details>
      )}
    </li>
  )
}

/** After a crash in the middle of a call. */
const replayWords: Readonly<Record<string, string>> = {
  pure: 'runs again after a crash',
  keyed: 'runs again after a crash, once',
  opaque: 'is not repeated after a crash',
}
