/**
 * Makes `return()` of a generator call `end` first, which must let the generator go on. By itself a generator would end only
 * after the value that a pending `next()` waits for.
 */
export function endAtOnce<Value>(
  generator: AsyncGenerator<Value, void, undefined>,
  end: () => void,
): AsyncGenerator<Value, void, undefined> {
  const { return: leave } = generator
  generator.return = (value) => {
    end()
    return leave.call(generator, value)
  }
  return generator
}
