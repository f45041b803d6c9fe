import type { ModelRequest } from '../../core/provider.ts'
import { smallestThinking, thinkingTokens } from './estimate.ts'

/** The request with as much output as was granted; answer and thinking give way in proportion. */
export function cut(request: ModelRequest, output: number): ModelRequest {
  const thinking = thinkingTokens(request)
  const wanted = request.maxTokens + thinking
  if (output >= wanted) return request
  if (thinking === 0) return { ...request, maxTokens: output }
  const share = Math.floor((output * thinking) / wanted)
  const thinkingBudget = Math.max(smallestThinking, Math.min(share, output - leastAnswer(request)))
  return { ...request, maxTokens: output - thinkingBudget, thinkingBudget }
}

/** With less output than this a request is not worth sending. */
export const leastOutput = (request: ModelRequest): number =>
  leastAnswer(request) + Math.min(thinkingTokens(request), smallestThinking)

const leastAnswer = ({ maxTokens }: ModelRequest): number => Math.min(maxTokens, 256)
