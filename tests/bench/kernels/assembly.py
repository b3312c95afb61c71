#!/usr/bin/env python3
"""Reviews the machine code of a model's heaviest kernels: the innermost loop of each.

    assembly.py MODEL.so... --bin build/bin [--count 10] [--mca llvm-mca-22] [--cpu skylake-avx512]

For each kernel, by arithmetic: the innermost loop with the most multiply-adds, and in it the
multiply-adds, those with an operand in memory (folded), other loads, scalar instructions, accesses
to the stack (spills), and what llvm-mca says: cycles an iteration, and the share of them that two
multiply-adds a cycle need. LLVM's model of znver5 has one 512-bit multiply-add a cycle: give a
--cpu that has two for AVX-512 code.
"""

import argparse
import json
import re
import subprocess
import sys


def run(*arguments, text=None):
    done = subprocess.run(arguments, capture_output=True, text=True, input=text)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}:\n{done.stderr}")
    return done.stdout


def innermost_loops(assembly):
    """The bodies of loops of one block: lists of instructions."""
    label, body = None, []
    for line in assembly.splitlines():
        line = line.split("#")[0].strip()
        if line.endswith(":") or not line or line.startswith("."):
            if line.endswith(":"):
                label, body = line[:-1], []
            continue
        body.append(line)
        jump = re.match(r"j\w+\s+(\S+)", line)
        if jump:
            if jump.group(1) == label:
                yield body
            label, body = None, []


def is_fused(instruction):
    return instruction.startswith(("vfmadd", "vfnmadd"))


def has_memory(instruction):
    return "(" in instruction and not instruction.startswith("lea")


def review(assembly, mca, cpu):
    loops = [b for b in innermost_loops(assembly) if any(map(is_fused, b))]
    if not loops:
        return None
    body = max(loops, key=lambda b: sum(map(is_fused, b)))
    fused = [i for i in body if is_fused(i)]
    others = [i for i in body if not is_fused(i)]
    report = run(mca, f"-mcpu={cpu}", "-iterations=200", "-all-views=false", "-summary-view",
                 text="\n".join(body) + "\n")
    cycles = int(re.search(r"Total Cycles:\s+(\d+)", report).group(1)) / 200
    return {"fused": len(fused), "folded": sum(map(has_memory, fused)),
            "loads": sum(i.startswith("v") and has_memory(i) for i in others),
            "scalar": sum(not i.startswith("v") for i in others),
            "spills": sum("(%rsp" in i for i in body if i.startswith("v")),
            "cycles": cycles, "share": len(fused) / 2 / cycles}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("models", nargs="+")
    p.add_argument("--bin", required=True, help="folder of the program temper")
    p.add_argument("--count", type=int, default=10)
    p.add_argument("--mca", default="llvm-mca-22")
    p.add_argument("--cpu", default="skylake-avx512")
    flags = p.parse_args()
    temper = f"{flags.bin}/temper"
    kernels = {}
    for model in flags.models:
        for kernel in json.loads(run(temper, "inspect", model, "--json"))["kernels"]:
            kernels.setdefault(kernel["workload"], (kernel["flops"], kernel["name"], model))
    heaviest = sorted(kernels.items(), key=lambda k: -k[1][0])[:flags.count]
    print(f"{'kernel':56} {'fma':>4} {'folded':>6} {'loads':>5} {'scalar':>6} {'spills':>6} "
          f"{'cycles':>7} {'share':>6}")
    for workload, (_, name, model) in heaviest:
        shown = json.loads(run(temper, "inspect", model, "--kernel", workload, "--asm", "--json"))
        r = review(shown["asm"], flags.mca, flags.cpu)
        if r is None:
            print(f"{name:56} no loop with multiply-adds")
            continue
        print(f"{name[:56]:56} {r['fused']:4} {r['folded']:6} {r['loads']:5} {r['scalar']:6} "
              f"{r['spills']:6} {r['cycles']:7.1f} {r['share'] * 100:5.1f}%")
    return 0


if __name__ == "__main__":
    sys.exit(main())
