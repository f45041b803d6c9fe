import { type LogEntry, visibleName } from '../libero.ts'

/** An entry in a few words. */
export function entryWords(entry: LogEntry): string {
  return visibleName(`${entry.type.replaceAll('_', ' ')}${detailOf(entry)}`)
}

function detailOf(entry: LogEntry): string {
  switch (entry.type) {
    case 'turn': {
      const { role, content } = entry.turn
      const calls = content.flatMap((block) => (block.type === 'tool_call' ? [block.name] : []))
      const text = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(' ')
      const said = text.slice(0, 80).replace(/\s+/g, ' ')
      return ` · ${role === 'user' ? 'person' : 'model'}${said === '' ? '' : `: ${said}`}${calls.length > 0 ? ` → ${calls.join(', ')}` : ''}`
    }
    case 'input':
      return ` · ${entry.mode}`
    case 'run_started':
      return ` · ${entry.model}`
    case 'run_ended':
      return ` · ${entry.status}`
    case 'call_started':
      return ` · ${entry.callId}`
    case 'call_result':
      return ` · ${entry.outcome}`
    case 'approval_answered':
      return ` · ${entry.decision} by ${entry.by}`
    case 'state':
      return ` · ${entry.owner}`
    case 'label':
      return ` · ${entry.text}`
    case 'usage':
      return ` · ${entry.cause}`
    default:
      return ''
  }
}
