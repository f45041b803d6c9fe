import { type ApprovalCard, type FilePreview, fullyVisible } from '../libero.ts'
import { type CallText, readCallText } from './call-text.ts'
import { WholeDiff } from './whole-diff.tsx'

type ApprovalCall = ApprovalCard['calls'][number]

/** A call as a person decides about it: what would run or change, whole, then where and why. */
export function CallView({ call, hidesDiffs = false }: { readonly call: ApprovalCall; readonly hidesDiffs?: boolean }) {
  const text = textOf(call)
  const files = call.preview?.files ?? []
  // Diffs that show all that a call does stand for its arguments.
  const isAllInDiffs =
    files.length > 0 && files.every(({ diff, moreLines = 0 }) => diff !== undefined && moreLines === 0)
  // What a single file comes to is said in the heading.
  const facts = text.facts.filter(({ name }) => files.length !== 1 || name !== `edits ${files[0]!.path}`)
  return (
    <div class="call-view">
      {!hidesDiffs && files.map((file) => <FileChange key={file.path} file={file} isAlone={files.length === 1} />)}
      {!isAllInDiffs && <Arguments tool={call.tool} text={text} />}
      {text.notes.map((note) => (
        <p key={note} class="call-note">
          {note}
        </p>
      ))}
      <dl class="call-facts">
        {facts.map(({ name, value, more }, i) => (
          <div key={i}>
            <dt>{name}</dt>
            <dd>
              {value}
              {more.length > 0 && <pre>{more.join('\n')}</pre>}
            </dd>
          </div>
        ))}
      </dl>
    </div>
  )
}

/** The tool and its main argument, for a heading. */
export function callSubject({ tool, parameters = {}, preview }: ApprovalCall): string {
  const [first, ...others] = preview?.files ?? []
  if (first)
    return fullyVisible(`${first.path}${others.length > 0 ? ` and ${others.length} more` : ''}${changeCounts(first)}`)
  const main = ['path', 'file_path', 'url', 'title', 'name'].map((name) => parameters[name])
  const text = tool === 'shell' ? undefined : main.find((value) => typeof value === 'string')
  return text === undefined ? '' : fullyVisible(String(text))
}

const changeCounts = ({ added, removed }: FilePreview): string =>
  added === undefined ? '' : `  +${added} −${removed ?? 0}`

function FileChange({ file, isAlone }: { readonly file: FilePreview; readonly isAlone: boolean }) {
  const { path, change, diff, moreLines = 0 } = file
  const verb = { create: 'makes', replace: 'replaces', edit: 'edits' }[change]
  return (
    <figure class="file-change">
      <figcaption class={isAlone ? 'visually-hidden' : ''}>
        {verb} <code>{fullyVisible(path)}</code>
        <span class="facts">{changeCounts(file)}</span>
      </figcaption>
      {diff === undefined ? <p class="facts">Too large to compare, or no text.</p> : <WholeDiff diff={diff} />}
      {moreLines > 0 && (
        <p class="call-note">{`${moreLines} more lines of this diff are not shown; the arguments below are whole.`}</p>
      )}
    </figure>
  )
}

function Arguments({ tool, text: { args } }: { readonly tool: string; readonly text: CallText }) {
  if (tool === 'shell' && args[0]?.name === 'command' && args.length === 1)
    return (
      <pre class="call-command">
        <code>{args[0].text}</code>
      </pre>
    )
  return (
    <>
      {args.map(({ name, text }, i) => (
        <div key={i} class="call-argument">
          <span class="facts">{name}</span>
          <pre>{text}</pre>
        </div>
      ))}
    </>
  )
}

/** Without the authority's lines, as from an embedder's own server, the arguments are shown as they are. */
function textOf({ lines, parameters = {}, reason }: ApprovalCall): CallText {
  const text = readCallText(lines)
  if (text.args.length > 0 || lines.length > 0) return text
  const args = Object.entries(parameters).map(([name, value]) => ({
    name: fullyVisible(name),
    text: fullyVisible(typeof value === 'string' ? value : JSON.stringify(value, null, 2), { lines: 'kept' }),
  }))
  return { ...text, args, facts: [{ name: 'asked because', value: fullyVisible(reason), more: [] }] }
}
