import { useEffect, useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { formatDuration, type RemoteMcpServer, type RemoteMcpTest, visibleName, visibleText } from '../libero.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { Empty } from '../parts/empty.tsx'
import { WebLink } from '../parts/markdown.tsx'
import { ProblemLine } from '../parts/problem-line.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAction } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'

/** MCP servers: their states, logins, and what each offers when it is tried. */
export function McpPanel() {
  const { client } = usePage()
  const answer = useAnswer(() => client.mcp(), [])
  const isLoggingIn = answer.value?.some(({ loginState }) => loginState?.state === 'open') ?? false
  useEffect(() => {
    if (!isLoggingIn) return
    const timer = setInterval(answer.again, 2000) // the other tab logs in, and only the server hears of it
    return () => clearInterval(timer)
  }, [isLoggingIn])
  return (
    <Shown answer={answer} what="MCP servers">
      {(servers) => (
        <>
          {servers.length === 0 && (
            <Empty title="No MCP servers">
              <p>
                Servers are written into <code>mcpServers</code> of the settings, or into <code>.mcp.json</code> of a
                project.
              </p>
            </Empty>
          )}
          <ul class="item-list">
            {servers.map((server, i) => (
              <Server key={`${server.where} ${server.name ?? i}`} server={server} onChanged={answer.again} />
            ))}
          </ul>
        </>
      )}
    </Shown>
  )
}

const stateWords: Readonly<Record<RemoteMcpServer['state'], readonly [words: string, kind: string]>> = {
  used: ['used', 'good'],
  off: ['off', ''],
  shadowed: ['another one of this name counts', ''],
  wrong: ['wrong', 'bad'],
  pending: ['its project is not trusted', 'waits'],
}

function Server({ server, onChanged }: { readonly server: RemoteMcpServer; readonly onChanged: () => void }) {
  const { client } = usePage()
  const { name, transport, from, where, state, problem: wrong, login, isLoggedIn, loginState, entry } = server
  const { isBusy, problem, run } = useAction()
  const [url, setUrl] = useState<string>()
  const [tested, setTested] = useState<RemoteMcpTest>()
  const [words, kind] = stateWords[state]
  const logIn = (): void =>
    void run(async () => {
      setUrl((await client.mcpLogin(name!)).url)
      onChanged()
    })
  const logOut = async (): Promise<void> => {
    if (await run(() => client.mcpLogout(name!))) onChanged()
  }
  const test = (): void => void run(async () => setTested(await client.mcpTest(name!)))
  return (
    <li>
      <div class="item-head">
        <strong>{visibleName(name ?? where)}</strong>
        <span class="tag" data-kind={kind}>
          {words}
        </span>
        {login !== undefined && <span class="facts">{visibleName(login)}</span>}
        {name !== undefined && state === 'used' && (
          <span class="row-buttons">
            {isLoggedIn === false && (
              <button type="button" disabled={isBusy} onClick={logIn}>
                Log in
              </button>
            )}
            {isLoggedIn && (
              <button type="button" disabled={isBusy} onClick={logOut}>
                Log out
              </button>
            )}
            <button type="button" disabled={isBusy} onClick={test}>
              {isBusy ? 'Trying …' : 'Try it'}
            </button>
          </span>
        )}
      </div>
      <p class="item-text">{[transport, visibleName(from), visibleName(where)].filter(Boolean).join(' · ')}</p>
      {wrong !== undefined && <p class="problem-line">{visibleText(wrong)}</p>}
      <ProblemLine problem={problem} />
      {loginState?.state === 'open' && url !== undefined && (
        <p class="call-note">
          <WebLink href={url}>Open the login</WebLink> on the machine of the server; this list follows.
        </p>
      )}
      {loginState?.state === 'failed' && <ProblemLine problem={loginState.problem} />}
      {tested && <Tested test={tested} />}
      {entry !== undefined && (
        <details>
          <summary class="facts">As written</summary>
          <CodeBlock code={JSON.stringify(entry, null, 2)} language="json" />
        </details>
      )}
    </li>
  )
}

function Tested({ test }: { readonly test: RemoteMcpTest }) {
  const { isOk, state, durationMs, tools, notes, problem, stderr, warning } = test
  return (
    <div class="panel" role="status">
      <p>{`${isOk ? '✓' : '✗'} ${state} after ${formatDuration(durationMs)}, ${tools.length} tools`}</p>
      <ProblemLine problem={problem} />
      {[warning, ...notes].map(
        (note) =>
          note !== undefined && (
            <p key={note} class="facts">
              {visibleText(note)}
            </p>
          ),
      )}
      <ul>
        {tools.map(({ name, description }) => (
          <li key={name}>
            <code>{visibleName(name)}</code> <span class="facts">{visibleName(description.slice(0, 200))}</span>
          </li>
        ))}
      </ul>
      {stderr !== undefined && stderr !== '' && <pre class="lines">{visibleText(stderr)}</pre>}
    </div>
  )
}
