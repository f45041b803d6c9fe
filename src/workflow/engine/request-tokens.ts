import { type TokenBreakdown, tokenBreakdown, withReported } from '../../plugins/tokens/token-breakdown.ts'
import type { Engine } from './make-engine.ts'

/** What the tokens of an agent's last request in this process went to; exact where the provider says how many there were. */
export class RequestTokens {
  latest: TokenBreakdown | undefined

  /** Listens to an engine that was just made. */
  attach({ agent: { hooks }, contextWindow }: Engine): void {
    hooks.hook('turn:before', async ({ options }) => {
      this.latest = tokenBreakdown(options, await contextWindow(options.model))
    })
    hooks.hook('turn:after', ({ usage }) => {
      if (this.latest) this.latest = withReported(this.latest, usage)
    })
  }
}
