"""Publishing: a copy of a notebook to give away, with the recordings that it plays.

`publish` runs the notebook offline and sees which cassettes it plays. Then, in this order:

1. `copied_cassettes` reads these cassettes and applies the project's rules to them anew; every value that a rule
   replaces is noted, with what stands for it;
2. `values` decides where else each value is to be replaced, and `replacements` replaces it in texts and in Python code,
   in the forms in which people write it;
3. `copied_notebook` makes the notebook to give away: these replacements, and nothing of the machine or of widgets;
4. `companions` writes what stands beside it: settings, requirements and a README (`copying` does these four);
5. the copy runs in its own folder, twice, so that its outputs come from its own cassettes and stay the same;
6. `checking` searches all of it for the values and for secrets. `targets` puts it in its place as a folder or an
   archive, and `page` makes a page of it that needs no Jupyter.

Whatever goes wrong, nothing is left at the target.
"""
