import { usePage } from '../frame/page-context.ts'
import { type ApprovalView, type CallResultView, type CallRow, visibleName, visibleText } from '../libero.ts'
import { resultIn } from '../model/cut-entry.ts'
import { outputText } from '../model/rows-with.ts'
import { inputIn } from '../model/whole-row.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { renderContent } from '../parts/renderers.tsx'
import { Attachment } from './attachment.tsx'
import { CallWhy } from './call-why.tsx'
import { isReplay } from './is-replay.ts'
import { useSessionScreen } from './session-context.ts'
import { useWholeEntry } from './use-whole-entry.ts'

/** All of a call: its input, what the person was asked, its result. What the page had cut is read again from the log. */
export function CallDetails({ row }: { readonly row: CallRow }) {
  const { session } = useSessionScreen()
  const { base } = usePage()
  const call = useWholeEntry(session.isCut(row.seq) ? row.seq : undefined)
  const resultSeq = row.result?.seq
  const end = useWholeEntry(resultSeq !== undefined && session.isCut(resultSeq) ? resultSeq : undefined)
  const input = inputIn(call, row.id) ?? row.input
  const result = resultIn(end) ?? row.result
  return (
    <div class="call-details">
      <Input input={input} raw={row.raw} args={row.live?.args} />
      {row.live?.progress && !result && <pre class="output">{visibleText(row.live.progress)}</pre>}
      {row.approvals?.map((approval) => (
        <Approval key={approval.seq} approval={approval} />
      ))}
      {result && <Result row={row} result={result} />}
      <div class="details-actions">
        {!isReplay && <CallWhy callId={row.id} />}
        {result && <CopyButton text={() => outputText(result.output)} what="result" label="Copy result" />}
        {!isReplay && (
          <CopyButton
            text={() => `${location.origin}${base}/s/${encodeURIComponent(session.id)}#${row.seq}`}
            what="link"
            label="Copy link"
          />
        )}
        <span class="facts">
          {`entry ${row.seq}`}
          {row.at > 0 && ` · ${new Date(row.at).toLocaleString()}`}
          {row.origin && ` · ${visibleName(originWords(row.origin))}`}
        </span>
      </div>
    </div>
  )
}

const originWords = (origin: object): string =>
  Object.values(origin)
    .filter((value) => typeof value === 'string')
    .join(' ')

interface InputProps {
  readonly input: CallRow['input']
  readonly raw: string | undefined
  readonly args: string | undefined
}

/** A command as a command, everything else by name. */
function Input({ input, raw, args }: InputProps) {
  const names = Object.keys(input)
  if (names.length === 0) {
    const text = raw ?? args
    return text === undefined || text === '' ? null : <pre class="output">{visibleText(text)}</pre>
  }
  return (
    <dl class="call-input">
      {names.map((name) => (
        <div key={name}>
          <dt>{visibleName(name)}</dt>
          <dd>
            <pre>{visibleText(valueText(input[name]))}</pre>
          </dd>
        </div>
      ))}
    </dl>
  )
}

const valueText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))

/** What the person was asked, and who answered. */
function Approval({ approval: { reason, answer, call } }: { readonly approval: ApprovalView }) {
  const about = call ? `${visibleName(call.name)}: ` : ''
  return (
    <p class="call-approval">
      {`${about}asked${reason === undefined ? '' : `: ${visibleText(reason)}`}`}
      <br />
      {answer ? answerWords(answer) : 'no answer yet'}
    </p>
  )
}

function answerWords({ decision, by, scope, where, note, at }: NonNullable<ApprovalView['answer']>): string {
  const words = { allow: 'allowed', deny: 'denied', expired: 'expired', reply: 'answered' }[decision]
  const said = note?.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(' ')
  return [
    `${words}${by === undefined ? '' : ` by ${visibleName(by)}`}`,
    scope !== undefined && scope !== 'once' && `for this ${scope}`,
    where === 'outside' && 'outside of the sandbox',
    said && `“${visibleText(said)}”`,
    new Date(at).toLocaleTimeString(),
  ]
    .filter(Boolean)
    .join(' · ')
}

function Result({ row, result }: { readonly row: CallRow; readonly result: CallResultView }) {
  const text = outputText(result.output)
  const { contentType } = (result.details ?? {}) as { readonly contentType?: unknown }
  const isError = result.isError === true || result.outcome !== 'done'
  const content = (text: string, details: unknown) =>
    renderContent({
      ...{ id: row.id, role: 'tool', content: text, ...(typeof contentType === 'string' && { contentType }) },
      metadata: { toolId: row.name, callId: row.id, toolParameters: row.input, isToolResult: true, details },
    })
  return (
    <div class={isError ? 'call-result is-error' : 'call-result'}>
      {result.diff !== undefined && content(result.diff, { diff: result.diff })}
      {text.trim() !== '' && (result.diff === undefined || isError) && content(text, result.details)}
      {typeof result.output !== 'string' &&
        result.output.map((part, i) =>
          part.type === 'text' ? null : <Attachment key={i} block={part} seq={result.seq} place={i} />,
        )}
    </div>
  )
}
