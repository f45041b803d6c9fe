import { type CallRow, callTitle } from '../libero.ts'
import { useModel } from '../model/model.ts'
import { CallLine } from './call-line.tsx'
import { CallView } from './call-view.tsx'
import { useOpened, useSessionScreen } from './session-context.ts'

/** Several calls of one tool that only looked at something, on one line. */
export function CallGroup({ calls }: { readonly calls: readonly CallRow[] }) {
  const { session } = useSessionScreen()
  const folder = useModel(session, ({ summary }) => summary?.folder ?? '')
  const [first] = calls
  const [isOpen, toggle] = useOpened(`${first!.id}.group`)
  const about = [...new Set(calls.map(({ input }) => callTitle(input, folder)))]
  return (
    <div class="call-group">
      <CallLine
        mark="done"
        name={first!.name}
        what={about.join(', ').slice(0, 1000)}
        facts={[first!.name.startsWith('read') ? `${about.length} files` : `${calls.length} calls`]}
        isOpen={isOpen}
        onToggle={toggle}
      />
      {isOpen && (
        <div class="nested">
          {calls.map((row) => (
            <CallView key={row.id} row={row} />
          ))}
        </div>
      )}
    </div>
  )
}
